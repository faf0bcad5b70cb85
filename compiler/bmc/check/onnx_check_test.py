"""Tests what `bmc check` says of .onnx files: everything that blocks them, inputs to pin, lines to paste."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc import check, target
from bmc.errors import BmcError
from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions

_FLOAT, _INT64 = TensorProto.FLOAT, TensorProto.INT64


def _info(name: str, shape: Sequence[Any] | None, kind: int = _FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(nodes: list[Any], inputs: list[Any], outputs: list[Any], *weights: Any) -> bytes:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return bytes(model.SerializeToString())


def _dense(name: str = "w", inner: int = 8) -> bytes:
    weight = np.random.default_rng(0).standard_normal((inner, 4)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", name], ["y"], name="dense"),
        helper.make_node("Relu", ["y"], ["z"], name="relu"),
    ]
    inputs, outputs = [_info("x", ["batch", inner])], [_info("z", ["batch", 4])]
    return _model(nodes, inputs, outputs, numpy_helper.from_array(weight, name))


def _switch() -> bytes:
    """x * 2 at 16 kHz, x * 3 elsewhere."""

    def branch(factor: float) -> onnx.GraphProto:
        node = helper.make_node("Mul", ["x", "factor"], ["scaled"])
        value = numpy_helper.from_array(np.float32(factor), "factor")
        return helper.make_graph([node], "b", [], [_info("scaled", None)], [value])

    nodes = [
        helper.make_node("Equal", ["sr", "rate"], ["is"]),
        helper.make_node("If", ["is"], ["y"], then_branch=branch(2), else_branch=branch(3)),
    ]
    inputs = [_info("x", [1, "n"]), _info("sr", [], _INT64)]
    rate = numpy_helper.from_array(np.int64(16000), "rate")
    return _model(nodes, inputs, [_info("y", [1, "n"])], rate)


class OnnxCheckTest(unittest.TestCase):
    def check(self, data: bytes, name: str = "net.onnx", **options: Any) -> tuple[bool, str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            said: list[str] = []
            ok = check.check(
                str(path), ImportOptions(**options), target.find("rv64gcv_zvl256b"), said.append
            )
            # What import says must be the same, given what check tells to write.
            if "shapes = " not in "".join(said) and "constants = " not in "".join(said):
                self.assertEqual(ok, not self.refusal(path), said)
        text = "\n".join(said)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 100, line)
        return ok, text

    def refusal(self, path: Path) -> str:
        with tempfile.TemporaryDirectory() as out:
            try:
                import_model(str(path), ImportOptions(host_check=False), Path(out))
            except BmcError as error:
                return error.message
        return ""

    def test_a_model_that_runs(self) -> None:
        ok, text = self.check(_dense())
        self.assertTrue(ok)
        for part in (
            "x  f32  ?x8  the batch becomes 1",
            "z  f32  1x4",
            "multiply-accumulates                   32\n",
            "weights, bytes                        128\n",
            "nothing blocks the import",
            'src = "net.onnx",',
            'name = "net_firmware",',
        ):
            self.assertIn(part, text)
        self.assertNotIn("shapes", text)

    def test_everything_that_can_be_read_is_listed(self) -> None:
        infinite = numpy_helper.from_array(np.full((8,), np.nan, np.float32), "bad")
        nodes = [
            helper.make_node("RandomNormalLike", ["x"], ["a"], name="noise"),
            helper.make_node("Dropout", ["x", "", "yes"], ["b"], name="drop"),
            helper.make_node("Add", ["a", "b"], ["c"], name="add"),
            helper.make_node("Add", ["c", "bad"], ["d"], name="biased"),
        ]
        weights = [
            infinite,
            numpy_helper.from_array(np.array(True), "yes"),
        ]
        ok, text = self.check(_model(nodes, [_info("x", [1, 8])], [_info("d", [1, 8])], *weights))
        self.assertFalse(ok)
        for part in (
            "op 'RandomNormalLike' draws random numbers",
            "op 'Dropout' runs in training mode",
            "weight 'bad' contains NaN or Inf",
            "at: drop in net.onnx",
            "way out: make them an input",
        ):
            self.assertIn(part, text)
        self.assertNotIn("bm_firmware", text)

    def test_everything_that_the_converter_rejects_is_listed(self) -> None:
        pool = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "p": 3}
        nodes = [
            helper.make_node("Relu", ["x"], ["a"], name="relu"),
            helper.make_node("LpPool", ["a"], ["b"], name="first_pool", **pool),
            helper.make_node("Add", ["a", "b"], ["c"], name="add"),
            helper.make_node("LpPool", ["c"], ["d"], name="second_pool", **pool),
            helper.make_node("MaxRoiPool", ["d", "w"], ["e"], name="regions", pooled_shape=[2, 2]),
            helper.make_node("Relu", ["e"], ["f"], name="last_relu"),
        ]
        weight = numpy_helper.from_array(np.array([[0, 0, 0, 3, 3]], np.float32), "w")
        inputs, outputs = [_info("x", [1, 1, 4, 4])], [_info("f", [1, 1, 2, 2])]
        ok, text = self.check(_model(nodes, inputs, outputs, weight))
        self.assertFalse(ok)
        for name in ("first_pool", "second_pool", "regions"):
            self.assertIn(name, text)
        for name in ("relu", "add"):
            self.assertNotIn(name, text)

    def test_f16_on_an_instruction_set_without_it(self) -> None:
        half = TensorProto.FLOAT16
        node = helper.make_node("Add", ["x", "x"], ["y"], name="twice")
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "half.onnx"
        path.write_bytes(_model([node], [_info("x", [1, 64], half)], [_info("y", [1, 64], half)]))
        for isa, runs in (("rv64gcv_zvl256b", False), ("rv64gcv_zfh_zvfh_zvl256b", True)):
            said: list[str] = []
            ok = check.check(str(path), ImportOptions(), target.find(isa), said.append)
            self.assertEqual(ok, runs, said)
            self.assertEqual("computes 'addf' in f16" in "".join(said), not runs, said)

    def test_an_input_that_selects_a_branch(self) -> None:
        ok, text = self.check(_switch())
        self.assertTrue(ok)
        self.assertIn("selects a branch: the file compares it with 16000", text)
        self.assertIn('constants = {"sr": 16000},', text)
        self.assertIn('shapes = {"x": [1, 512]},', text)
        self.assertIn("These sizes are a guess", text)
        ok, text = self.check(_switch(), constants={"sr": 8000}, shapes={"x": (1, 3)})
        self.assertTrue(ok)
        self.assertIn('constants = {"sr": 8000},', text)
        self.assertIn('shapes = {"x": [1, 3]},', text)
        self.assertNotIn("a guess", text)

    def test_no_size_fits(self) -> None:
        nodes = [helper.make_node("Reshape", ["x", "to"], ["y"], name="reshape")]
        to = numpy_helper.from_array(np.array([1, 7, 11]), "to")
        ok, text = self.check(_model(nodes, [_info("x", [1, "n"])], [_info("y", [1, 7, 11])], to))
        self.assertFalse(ok)
        self.assertIn("x  f32  1x?  needs a shape", text)
        self.assertIn("model-failed", text)
        self.assertNotIn("shapes = ", text)

    def test_an_op_of_somebody_elses(self) -> None:
        nodes = [
            helper.make_node("Magic", ["x"], ["a"], domain="com.acme", name="spell"),
            helper.make_node("Relu", ["a"], ["y"], name="relu"),
        ]
        ok, text = self.check(_model(nodes, [_info("x", [1, 4])], [_info("y", [1, 4])]))
        self.assertFalse(ok)
        self.assertIn("com.acme", text)

    def test_a_damaged_file(self) -> None:
        for data in (b"", b"junk", _dense()[:-40]):
            ok, text = self.check(data)
            self.assertFalse(ok)
            self.assertIn("[bad-file]", text)

    def test_the_command(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "net.onnx"
            path.write_bytes(_dense())
            done = support.bmc("check", path, "--isa", "rv32imac")
            self.assertEqual(done.status, 0)
            self.assertIn("estimates for rv32imac", done.out)
            self.assertIn("//boards/qemu_virt_rv32:scalar", done.out)
            path.write_bytes(b"junk")
            done = support.bmc("check", path)
            self.assertEqual((done.status, done.err), (1, ""))
            self.assertIn("blocks the import", done.out)


if __name__ == "__main__":
    unittest.main()
