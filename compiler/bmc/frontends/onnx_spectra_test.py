"""STFT, DFT and Scan of ONNX, written with other ops, against ONNX's reference and onnxruntime."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import onnx_rewrites, onnx_scans, onnx_spectra

_RNG = np.random.default_rng(0)
_F32 = TensorProto.FLOAT


def _model(nodes: Any, shape: tuple[int | str, ...], weights: dict[str, Array], opset: int) -> Any:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", _F32, shape)],
        [helper.make_tensor_value_info(name, _F32, None) for name in nodes[-1].output if name],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def _run(model: Any, x: Array) -> list[Array]:
    for node in model.graph.node:
        node.name = ""  # Several nodes have the name of the one that they replace, which onnxruntime refuses.
    del model.graph.value_info[:]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    results: list[Array] = session.run(None, {"x": x})
    return results


def _rewritten(model: Any, *, apply: Any = onnx_rewrites.apply) -> Any:
    inferred = shape_inference.infer_shapes(model, data_prop=True)
    apply(inferred)
    return inferred


class SpectraTest(unittest.TestCase):
    def test_stft(self) -> None:
        # Lengths with and without divisors, frames that share parts with the hop, and some that must be gathered.
        for size, hop, onesided, parts in (
            (48, 16, 1, 1), (64, 24, 0, 1), (37, 5, 1, 1), (36, 7, 1, 1), (30, 10, 0, 2),
        ):  # fmt: skip
            with self.subTest(size=size, hop=hop):
                window = np.hanning(size + 2)[1:-1].astype(np.float32)
                weights: dict[str, Array] = {"hop": np.array(hop), "w": window}
                # The window may be computed.
                nodes = [
                    helper.make_node("Identity", ["w"], ["v"]),
                    helper.make_node("STFT", ["x", "hop", "v"], ["y"], onesided=onesided),
                ]
                x = _RNG.standard_normal((2, 200, parts)).astype(np.float32)
                model = _model(nodes if parts == 2 else [nodes[1]], x.shape, weights, 17)
                model.graph.node[-1].input[2] = "v" if parts == 2 else "w"
                (got,) = _run(_rewritten(model), x)
                cut = np.stack([x[:, i : i + size] for i in range(0, 201 - size, hop)], 1)
                cut = (cut * window[:, None]).astype(np.float64)
                signal = cut[..., 0] + (1j * cut[..., 1] if parts == 2 else 0)
                want = np.fft.fft(signal)[..., : size // 2 + 1 if onesided else size]
                self.assertEqual(got.shape, (*want.shape, 2))
                np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], want, atol=2e-5)

    def test_in_one_stage(self) -> None:
        hop: dict[str, Array] = {"hop": np.array(8), "w": np.hanning(20).astype(np.float32)}
        for op, inputs, weights, opset, shape, attributes in (
            ("STFT", ["hop", "w"], hop, 17, (2, 64, 1), {"onesided": 1}),
            ("STFT", ["hop", "w"], hop, 17, (2, 64, 1), {"onesided": 0}),
            ("STFT", ["hop", "", "n"], {**hop, "n": np.array(16)}, 17, (1, 40, 1), {}),
            ("DFT", [], {}, 17, (2, 24, 1), {"axis": 1}),
            ("DFT", ["n"], {"n": np.array(32)}, 17, (2, 3, 24, 1), {"axis": 2, "onesided": 1}),
        ):
            with self.subTest(op=op, shape=shape, **attributes):
                node = helper.make_node(op, ["x", *inputs], ["y"], **attributes)
                model = _model([node], shape, weights, opset)
                x = _RNG.standard_normal(shape).astype(np.float32)
                (want,) = _run(model, x)
                made = onnx_spectra.in_one_stage(model)
                kinds = [node.op_type for node in made.graph.node]
                self.assertEqual(kinds.count("Conv") + kinds.count("MatMul"), 1)
                self.assertNotIn(op, kinds)
                (got,) = _run(made, x)
                # onnxruntime's own DFT is 6e-5 off.
                np.testing.assert_allclose(got, want, atol=2e-4)

    def test_what_has_no_one_stage_stays(self) -> None:
        for shape, length, attributes in (
            ((2, 24, 2), 24, {"axis": 1}),
            ((3, 24, 1), 3, {"axis": 0}),
            ((2, 24, 1), 24, {"axis": 1, "inverse": 1}),
            ((2, 24, 1), 10, {"axis": 1}),
        ):
            node = helper.make_node("DFT", ["x", "n"], ["y"], **attributes)
            made = onnx_spectra.in_one_stage(_model([node], shape, {"n": np.array(length)}, 17))
            self.assertEqual([node.op_type for node in made.graph.node], ["DFT"])

    def test_dft(self) -> None:
        for shape, axis, opset, length, attributes in (
            ((2, 24, 1), 1, 17, None, {}),
            ((2, 24, 1), -2, 20, 32, {"onesided": 1}),
            ((24, 3, 2), 0, 20, 10, {}),
            ((3, 4, 17, 2), 2, 17, None, {"inverse": 1}),
            ((2, 7, 2), 1, 20, None, {"inverse": 1, "onesided": 1}),
            ((7, 3, 2), 0, 20, 9, {"inverse": 1, "onesided": 1}),
            ((2, 7, 2), 1, 20, 20, {"inverse": 1, "onesided": 1}),
        ):
            with self.subTest(shape=shape, axis=axis, length=length):
                weights = {} if length is None else {"n": np.array(length)}
                inputs = ["x", "n" if weights else ""]
                if opset >= 20:
                    weights["axis"] = np.array(axis)
                    inputs.append("axis")
                else:
                    attributes = {"axis": axis, **attributes}
                node = helper.make_node("DFT", inputs, ["y"], **attributes)
                x = _RNG.standard_normal(shape).astype(np.float32)
                model = _model([node], shape, weights, opset)
                (want,) = ReferenceEvaluator(model).run(None, {"x": x})
                (got,) = _run(_rewritten(model), x)
                self.assertEqual(got.shape, want.shape)
                np.testing.assert_allclose(got, want, atol=2e-5)

    def test_sums_round_little(self) -> None:
        """With one matrix, partial sums of a constant signal become large."""
        x = np.ones((1, 400, 1), np.float32)
        node = helper.make_node("DFT", ["x"], ["y"], axis=1, onesided=1)
        (got,) = _run(_rewritten(_model([node], x.shape, {}, 17)), x)
        self.assertLess(np.abs(got[0, 1:]).max(), 1e-5)


class ScanTest(unittest.TestCase):
    def test_states_and_directions(self) -> None:
        body = helper.make_graph(
            [
                helper.make_node("Add", ["s", "c"], ["t"]),
                helper.make_node("Mul", ["t", "half"], ["n"]),
                helper.make_node("Sub", ["t", "d"], ["o"]),
            ],
            "body",
            [helper.make_tensor_value_info(name, _F32, (3,)) for name in ("s", "c", "d")],
            [helper.make_tensor_value_info(name, _F32, (3,)) for name in ("n", "o", "t")],
            [numpy_helper.from_array(np.float32(0.5), "half")],
        )
        node = helper.make_node(
            "Scan", ["zero", "x", "x"], ["last", "a", "b"], body=body, num_scan_inputs=2,
            scan_input_axes=[1, 1], scan_input_directions=[0, 1],
            scan_output_axes=[0, 1], scan_output_directions=[1, 0],
        )  # fmt: skip
        x = _RNG.standard_normal((3, 5)).astype(np.float32)
        model = _model([node], x.shape, {"zero": np.zeros(3, np.float32)}, 17)
        want = _run(_rewritten(model, apply=lambda model: None), x)
        rewritten = _rewritten(model, apply=onnx_scans.apply)
        self.assertFalse(onnx_scans.apply(rewritten))
        self.assertNotIn("Scan", {each.op_type for each in rewritten.graph.node})
        for a, b in zip(_run(rewritten, x), want, strict=True):
            np.testing.assert_array_equal(a, b)

    def scan(self, length: int | str) -> Any:
        """Returns a model that negates a vector element after element, with inferred shapes."""
        info = helper.make_tensor_value_info
        negate = helper.make_node("Neg", ["c"], ["o"])
        body = helper.make_graph([negate], "body", [info("c", _F32, ())], [info("o", _F32, ())])
        node = helper.make_node("Scan", ["x"], ["y"], name="long", body=body, num_scan_inputs=1)
        return shape_inference.infer_shapes(_model([node], (length,), {}, 17))

    def test_a_number_of_steps_that_is_not_known(self) -> None:
        model = self.scan("n")
        self.assertFalse(onnx_scans.apply(model))
        self.assertEqual([node.op_type for node in model.graph.node], ["Scan"])

    def test_too_many_steps(self) -> None:
        with self.assertRaises(BmcError) as caught:
            onnx_scans.apply(self.scan(30_000))
        self.assertIn("30000 steps", str(caught.exception))
        self.assertEqual(caught.exception.where, "long")


if __name__ == "__main__":
    unittest.main()
