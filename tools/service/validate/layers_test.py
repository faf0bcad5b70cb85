"""Which dispatches of two builds belong together, and where they differ."""

from __future__ import annotations

import dataclasses
import io
import unittest

import numpy as np
from blank import blank
from rich.console import Console

from bmc.dtype import Array, DType
from bmc.report import Binding, Command, Dispatch, Entry, Model, Operand
from tools.cli import UserError
from tools.run.debug.tolerance import Tolerance
from tools.service.service import Stop
from tools.service.validate import layers, page
from tools.service.validate.layers import Growth, Step

_CLOSE = Tolerance(1e-5, 1e-5)
_IMAGE = np.arange(1, 4 * 5 * 3 + 1, dtype=np.float32).reshape(4, 5, 3)


def step(layer: str, shape: tuple[int, ...], command: int = 0, dtype: DType = DType.F32) -> Step:
    return Step(Stop(command, 0, 0, 0), layer, "conv", dtype, shape)


def grown(got: Array, want: Array) -> Growth:
    kind = next(kind for kind in DType if kind.numpy == got.dtype)
    growth = Growth(step("a", got.shape, 0, kind), step("a", want.shape, 0, kind))
    growth.add(got.tobytes(), want.tobytes(), _CLOSE)
    return growth


def report(driver: bool = False) -> Model:
    """A fill and two dispatches, of which only one has a result at a known place."""
    read = blank(Operand, binding=1, dtype="i16", shape=(2, 3), offset=4)
    written = dataclasses.replace(read, writes=True)
    unknown = dataclasses.replace(written, offset=None)
    binding = Binding("arena", offset=64, bytes=64, reads=True, writes=True)
    conv = blank(Command, kind="dispatch", function="f", layer="relu", bindings=(binding, binding))
    return blank(
        Model,
        name="net",
        entries=(blank(Entry, name="main", first_command=1, command_count=3, driver=driver),),
        commands=(
            conv,
            dataclasses.replace(conv, kind="fill", function=""),
            dataclasses.replace(conv, layer=""),
            dataclasses.replace(conv, function="g"),
        ),
        dispatches=(
            blank(Dispatch, name="f", op="conv", source="m.py:3", operands=(read, written)),
            blank(Dispatch, name="g", op="add", operands=(unknown,)),
        ),
    )


class LayersTest(unittest.TestCase):
    def test_steps_of_a_report(self) -> None:
        entry = layers.entry(report(), "main")
        self.assertEqual(entry.commands, range(1, 4))
        self.assertEqual(
            entry.steps, (Step(Stop(2, 0, 68, 12), "m.py:3", "conv", DType.I16, (2, 3)),)
        )
        with self.assertRaisesRegex(UserError, "net has loops or branches in main"):
            layers.entry(report(driver=True), "main")

    def test_a_layer_is_paired_from_its_end(self) -> None:
        pad, planes = step("relu", (6, 7, 3)), step("relu", (1, 3, 4, 5))
        conv, other = step("relu", (4, 5, 3)), step("pool", (3,))
        extra = step("pool", (2,))
        found = layers.pairs([planes, extra, other], [pad, conv, other])
        self.assertEqual(found, [(planes, conv), (extra, None), (other, other)])
        # Neither another layer nor another kind of number.
        self.assertEqual(layers.pairs([step("a", (3,))], [step("b", (3,))])[0][1], None)
        self.assertEqual(
            layers.pairs([step("a", (3,))], [step("a", (3,), 0, DType.I8)])[0][1], None
        )

    def test_layouts_and_paddings_are_found(self) -> None:
        padded = np.pad(_IMAGE, ((1, 1), (2, 0), (0, 0)), constant_values=9)
        planes = np.ascontiguousarray(np.moveaxis(_IMAGE, -1, 0))[np.newaxis]
        for got, want in (
            (_IMAGE, _IMAGE[np.newaxis]),
            (planes, _IMAGE),
            (_IMAGE, planes),
            (planes, padded),
            (padded, planes),
            (_IMAGE.reshape(20, 3), _IMAGE),
            (np.float32(3), np.float32(3)),
        ):
            with self.subTest(f"{got.shape} {want.shape}"):
                growth = grown(np.asarray(got), np.asarray(want))
                self.assertEqual((growth.noise, growth.beyond), (0, 0))
                self.assertEqual(growth.count, min(got.size, want.size))
                wrong = np.array(got)
                wrong[wrong == (31 if wrong.ndim else 3)] += 1
                self.assertEqual(grown(wrong, np.asarray(want)).beyond, 1)

    def test_zeros_choose_no_arrangement(self) -> None:
        image = np.arange(64, dtype=np.float32).reshape(4, 4, 4)
        planes = np.ascontiguousarray(np.moveaxis(image, -1, 0))
        growth = Growth(step("a", planes.shape), step("a", image.shape))
        for sample in (0, 0, 1, 2):
            growth.add((planes * sample).tobytes(), (image * sample).tobytes(), _CLOSE)
        self.assertEqual((growth.noise, growth.beyond, growth.count), (0, 0, 4 * image.size))

    def test_errors_add_up_over_samples(self) -> None:
        want = np.array([1, 2, 3, -4], np.int8)
        growth = grown(np.array([1, 2, 5, -4], np.int8), want)
        growth.add(np.array([2, 2, 3, -4], np.int8).tobytes(), want.tobytes(), _CLOSE)
        self.assertEqual((growth.max_abs, growth.count, growth.beyond), (2, 8, 2))
        self.assertEqual((growth.noise, growth.signal), (5, 60))
        # As f64, both are the same.
        large = np.array([2**53 + 1], np.int64)
        self.assertEqual(grown(large, large).beyond, 0)
        self.assertEqual(grown(large - 1, large).beyond, 1)
        # Floats may differ a little, and not at all beside a NaN.
        self.assertEqual(grown(_IMAGE + np.float32(1e-4), _IMAGE).beyond, 0)
        self.assertEqual(grown(_IMAGE + np.float32(1e-1), _IMAGE).beyond, _IMAGE.size)
        self.assertEqual(
            grown(np.array([np.nan, 1], np.float32), np.array([1, 1], np.float32)).beyond, 1
        )

    def test_the_first_is_named(self) -> None:
        fine, bad = grown(_IMAGE, _IMAGE), grown(_IMAGE + 1, _IMAGE)
        alone = Growth(step("b", (3,)), None)
        self.assertEqual(layers.first_beyond([fine, alone, bad, bad]), 2)
        _, *said = page.layers("", [fine, alone, bad])
        self.assertEqual(said[1:], ["of the layer a", "1 have no counterpart on this machine"])
        self.assertIsNone(layers.first_beyond([fine, alone]))
        heading, _, *said = page.layers("step", [fine])
        self.assertEqual(
            (heading, said),
            ("layers of step", ["all 1 compared dispatches agree with this machine"]),
        )

    def test_a_row_of_a_layer(self) -> None:
        def row(growth: Growth) -> list[str]:
            to = io.StringIO()
            Console(file=to, width=200).print(page.layers("", [growth])[0])
            return to.getvalue().splitlines()[-1].split()

        name = "encoder/" * 8 + "attention/scores"
        growth = grown(np.array([1, 2, 3, 5], np.float32), np.array([1, 2, 3, 4], np.float32))
        growth.step = dataclasses.replace(growth.step, layer=name)
        mark = ["1", "of", "4", "<-", "first"]
        self.assertEqual(row(growth), ["0", f"...{name[-33:]}", "1", "0.5", "14.8", "dB", *mark])
        # Before the first sample was compared.
        waiting = row(Growth(growth.step, growth.step))
        self.assertEqual(waiting[2:4] + waiting[-3:], ["0", "0", "0", "of", "0"])


if __name__ == "__main__":
    unittest.main()
