"""Tests that onnxruntime's products of large bytes are exact on every CPU."""

from __future__ import annotations

import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from bmc.frontends import onnx_overflows
from bmc.frontends.onnx_file import parse

_SUM = 255 * 127 * 64
# onnxruntime's kernels need no care with these instructions.
_EXACT = ("avx512_vnni", "avx_vnni", "amx_int8")


def _file(op: str, inputs: list[str], domain: str, shape: tuple[int, ...], result: int) -> Any:
    weights: dict[str, Any] = {
        "w": np.full((8, 64, 1, 1) if op == "QLinearConv" else (64, 8), 127, np.int8),
        "zero": np.uint8(0),
        "w_zero": np.int8(0),
        "scale": np.float32(1),
        "of_result": np.float32(10_000),
    }
    given = TensorProto.FLOAT if op == "DynamicQuantizeMatMul" else TensorProto.UINT8
    graph = helper.make_graph(
        [helper.make_node(op, inputs, ["y"], domain=domain)],
        "graph",
        [helper.make_tensor_value_info("x", given, shape)],
        [helper.make_tensor_value_info("y", result, None)],
        [numpy_helper.from_array(np.asarray(each), name) for name, each in weights.items()],
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return parse(model.SerializeToString(), "m.onnx")


class OverflowsTest(unittest.TestCase):
    def test_large_bytes(self) -> None:
        scaled = ["x", "scale", "zero", "w", "scale", "w_zero"]
        ends = ["of_result", "zero"]
        own, byte = "com.microsoft", TensorProto.UINT8
        words = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
        saturates = not any(word in words for word in _EXACT)
        for op, inputs, domain, kind, want in (
            ("MatMulInteger", ["x", "w", "zero"], "", TensorProto.INT32, _SUM),
            ("MatMulInteger", ["x", "w", "zero", "w_zero"], "", TensorProto.INT32, _SUM),
            ("QLinearMatMul", [*scaled, *ends], "", byte, 207),
            ("QLinearConv", [*scaled, *ends], "", byte, 207),
            ("QGemm", [*scaled, "", *ends], own, byte, 207),
            ("DynamicQuantizeMatMul", ["x", "w", "scale"], own, TensorProto.FLOAT, 64 * 127),
        ):
            shape = (1, 64, 4, 4) if op == "QLinearConv" else (4, 64)
            dtype = np.float32 if op == "DynamicQuantizeMatMul" else np.uint8
            x = np.full(shape, 1 if dtype is np.float32 else 255, dtype)
            file = _file(op, inputs, domain, shape, kind)
            with self.subTest(op, inputs=inputs):
                ((y,),) = file.run(((x,),))
                np.testing.assert_allclose(y, np.full(y.shape, want), rtol=1e-5)
                unchanged = mock.patch.object(
                    onnx_overflows, "with_unsigned_weights", side_effect=lambda model: model
                )
                with unchanged:
                    ((y,),) = file.run(((x,),))
                self.assertEqual(np.allclose(y, want, rtol=1e-5), not saturates)

    def test_signed_activations_keep_signed_weights(self) -> None:
        inputs = ["x", "scale", "w_zero", "w", "scale", "w_zero", "of_result", "w_zero"]
        model = _file("QLinearMatMul", inputs, "", (4, 64), TensorProto.INT8).model
        (node,) = onnx_overflows.with_unsigned_weights(model).graph.node
        self.assertEqual(list(node.input), inputs)


if __name__ == "__main__":
    unittest.main()
