"""Ops on sound in .tflite files match TensorFlow Lite for Microcontrollers bit for bit."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import support
from flatbuffers import flexbuffers
from tflite_graph import Graph

_CHANNELS = 5
_SUBTRACTION = {
    "alternate_one_minus_smoothing": 15401,
    "alternate_smoothing": 983,
    "clamping": False,
    "min_signal_remaining": 819,
    "num_channels": _CHANNELS,
    "one_minus_smoothing": 15975,
    "smoothing": 409,
    "smoothing_bits": 10,
    "spectral_subtraction_bits": 14,
}


def _file(
    samples: int,
    length: int,
    *,
    noise: bool = True,
    clamping: bool = False,
    rest: bool = True,
    change: Callable[[Graph], None] = lambda _: None,
    **options: Any,
) -> bytes:
    """Returns ops that make features of so many samples.

    Args:
      length: of the spectrum.
      noise: whether noise is subtracted.
      clamping: whether the noise is never more than the signal.
      rest: whether an op of TFLite follows.
      change: changes the graph in the end.
      options: op -> options that it has instead.
    """
    rng = np.random.default_rng(1)
    made = Graph()
    bins = length // 2 + 1

    def add(name: str, inputs: list[int], outputs: list[int], **numbers: Any) -> None:
        numbers = options.get(name, numbers)
        data = flexbuffers.Dumps(numbers) if numbers else b""
        made.custom(f"Signal{name}", inputs, outputs, data)

    def constant(name: str, *values: int) -> int:
        return made.constant(name, np.array(values, np.int16))

    def number(name: str, *values: int) -> int:
        return made.constant(name, np.array(values, np.int32))

    x = made.tensor("x", (1, samples), "int16")
    windowed = made.tensor("windowed", (1, samples), "int16")
    window = constant("window", *np.round(4096 * np.hanning(samples)).astype(int))
    add("Window", [x, window], [windowed], shift=12)
    flat, loud = (made.tensor(name, (samples,), "int16") for name in ("flat", "loud"))
    made.op("RESHAPE", [windowed, number("shape", samples)], [flat])
    bits = made.tensor("bits", (), "int32")
    add("FftAutoScale", [flat], [loud, bits])
    spectrum = made.tensor("spectrum", (2 * bins,), "int16")
    add("Rfft", [loud], [spectrum], T=7, fft_length=length)
    energy = made.tensor("energy", (bins,), "uint32")
    add("Energy", [spectrum], [energy], start_index=1, end_index=bins - 1)
    signed, inside = (
        made.tensor("signed", (bins,), "int32"),
        made.tensor("inside", (bins - 2,), "int32"),
    )
    made.op("CAST", [energy], [signed])
    bounds = [number("begin", 1), number("end", bins - 1), number("step", 1)]
    made.op("STRIDED_SLICE", [signed, *bounds], [inside], options="StridedSliceOptions")
    joined, again = made.tensor("joined", (bins,), "int32"), made.tensor("again", (bins,), "uint32")
    zero = number("zero", 0)
    made.op("CONCATENATION", [zero, inside, zero], [joined], options="ConcatenationOptions")
    made.op("CAST", [joined], [again])
    sums = made.tensor("sums", (_CHANNELS,), "uint64")
    width = bins // (_CHANNELS + 1)
    starts = range(0, width * (_CHANNELS + 1), width)
    operands = [
        *(constant(n, *rng.integers(0, 4096, starts.stop)) for n in ("weights", "others")),
        *(constant(n, *starts) for n in ("starts", "places")),
        constant("widths", *[width] * (_CHANNELS + 1)),
    ]
    add("FilterBank", [again, *operands], [sums], num_channels=_CHANNELS)
    level = made.tensor("level", (_CHANNELS,), "uint32")
    add("FilterBankSquareRoot", [sums, bits], [level])
    if noise:
        clean, kept, gained = (
            made.tensor(name, (_CHANNELS,), "uint32") for name in ("clean", "kept", "gained")
        )
        numbers = {**_SUBTRACTION, "clamping": clamping}
        add("FilterBankSpectralSubtraction", [level], [clean, kept], **numbers)
        gains = constant("gains", *rng.integers(-(2**15), 2**15, 125))
        add("PCAN", [clean, kept, gains], [gained], snr_shift=6)
        level = gained
    y = made.tensor("y", (_CHANNELS,), "int16")
    add("FilterBankLog", [level], [y], input_correction_bits=3, output_scale=64)
    if rest:
        z = made.tensor("z", (_CHANNELS,))
        made.op("CAST", [y], [z])
        y = z
    change(made)
    return made.file([x], [y])


class TfliteSignalTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_forms(self) -> None:
        forms: tuple[tuple[int, int, dict[str, Any]], ...] = (
            (30, 32, {}),
            (64, 64, {"clamping": True, "rest": False}),
            (100, 256, {"noise": False}),
        )
        for samples, length, options in forms:
            with self.subTest(samples):
                model = self.load(_file(samples, length, **options))
                self.assertGreater(len(np.unique(np.stack(model.golden.outputs))), 12)
                self.agrees(model)

    def test_the_least_number(self) -> None:
        """The kernel takes its size for that number itself, and looks for a larger one from there on."""
        calls = (
            "x = np.full((1, 31), -32768, np.int16); y = x.copy(); y[0, 20:] = 77;"
            " return Cases(((x,), (y,), (0 * x,)), Exact())"
        )
        self.agrees(self.load(_file(31, 32, noise=False, rest=False), calls))

    def test_noise_is_kept(self) -> None:
        calls = "x = np.arange(30, dtype=np.int16)[None] * 999; return Cases(((x,),) * 4, Exact())"
        outputs = self.load(_file(30, 32), calls).golden.outputs
        self.assertFalse(np.array_equal(outputs[0][0], outputs[3][0]))

    def test_what_is_refused(self) -> None:
        def edited(name: bytes, **changes: Any) -> Callable[[Graph], None]:
            def change(made: Graph) -> None:
                (tensor,) = (each for each in made.graph.tensors if each.name == name)
                for key, value in changes.items():
                    setattr(tensor, key, value)

            return change

        def far(made: Graph) -> None:
            (tensor,) = (each for each in made.graph.tensors if each.name == b"starts")
            tensor.buffer = made.buffer(np.array([0, 2, 4, 6, 8, 16], np.int16))

        def along(made: Graph) -> None:
            """Along such an axis, the kernel would read outside of its tensors."""
            (joined,) = (
                op for op in made.graph.operators if len(op.inputs) == 3 and op.builtinOptions
            )
            joined.builtinOptions.axis = 7 << 24

        def late(made: Graph) -> None:
            made.graph.operators.append(made.graph.operators.pop(0))

        def doubled(made: Graph) -> None:
            (root,) = (
                op
                for op in made.graph.operators
                if len(op.inputs) == 2 and op.outputs == [level(made)]
            )
            root.inputs[1] = root.inputs[0]

        def level(made: Graph) -> int:
            names = [tensor.name for tensor in made.graph.tensors]
            return names.index(b"level")

        numbers = "with options that bmc does not understand"
        sizes = "with tensors that do not fit to its options"
        wrong: tuple[tuple[str, dict[str, Any]], ...] = (
            (f"'SignalRfft' {numbers}", {"Rfft": {"T": 0, "fft_length": 32}}),
            (f"'SignalRfft' {numbers}", {"Rfft": {"T": 7}}),
            (f"'SignalRfft' {numbers}", {"Rfft": {"A": 1, "T": 7, "fft_length": 32}}),
            (f"'SignalEnergy' {sizes}", {"Energy": {"start_index": 0, "end_index": 18}}),
            ("'SignalEnergy' that is read where", {"Energy": {"start_index": 2, "end_index": 16}}),
            (f"'SignalFilterBank' {sizes}", {"change": far}),
            ("'SignalFilterBankSquareRoot' with tensors of other types", {"change": doubled}),
            ("'CONCATENATION' among ops on sound", {"change": along}),
            (f"'SignalWindow' {sizes}", {"change": edited(b"windowed", shape=[1, 29])}),
        )
        for message, options in wrong:
            with self.subTest(message):
                data = _file(30, 32, **options)
                self.rejects("op-rejected", f"bmc does not know op {message}", data=data)
        self.rejects("bad-file", "before an op makes it", data=_file(30, 32, change=late))

    def test_the_package_is_missing(self) -> None:
        with mock.patch.dict("sys.modules", {"tflite_micro.python.tflite_micro": None}):
            self.rejects("tflite-missing", "needs the package tflite-micro", data=_file(30, 32))


if __name__ == "__main__":
    unittest.main()
