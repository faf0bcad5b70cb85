"""Quantizing in C gives onnxruntime's answers, bit for bit."""

from __future__ import annotations

import os
import subprocess
import unittest

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper

TYPES = {
    "i8": (np.int8, TensorProto.INT8),
    "u8": (np.uint8, TensorProto.UINT8),
}


def values(scale: np.float32) -> npt.NDArray[np.float32]:
    """Ties and their neighbors, limits and what is beyond them, and random numbers."""
    ties = (np.arange(-300, 300, dtype=np.float32) + np.float32(0.5)) * scale
    beside = [np.nextafter(ties, np.float32(to)) for to in (-np.inf, np.inf)]
    noise = np.random.default_rng(0).normal(0, 100, 5000).astype(np.float32) * scale
    ends = np.array([0, -0.0, 1e30, -1e30, np.inf, -np.inf, 1e-40], np.float32)
    return np.concatenate([ties, *beside, noise, ends])


def reference(
    kind: str, scale: np.float32, zero_point: int, x: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.float32]]:
    """What onnxruntime's QuantizeLinear gives, and DequantizeLinear of that."""
    dtype, onnx_type = TYPES[kind]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    constants = [
        helper.make_tensor("scale", TensorProto.FLOAT, [], [float(scale)]),
        helper.make_tensor("zero", onnx_type, [], [zero_point]),
    ]
    graph = helper.make_graph(
        nodes,
        "quantize",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [len(x)])],
        [
            helper.make_tensor_value_info("q", onnx_type, [len(x)]),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [len(x)]),
        ],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    q, y = session.run(None, {"x": x})
    assert q.dtype == dtype
    return q, y


def target(
    kind: str, scale: np.float32, zero_point: int, x: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.float32]]:
    """The same by runtime_bm/base/quantize.h."""
    argv = [os.environ["QUANTIZE"], kind, repr(float(scale)), str(zero_point)]
    lines = subprocess.run(argv, input=x.tobytes(), capture_output=True, check=True).stdout
    rows = [line.split() for line in lines.decode().splitlines()]
    q = np.array([int(row[0]) for row in rows], TYPES[kind][0])
    return q, np.array([float.fromhex(row[1]) for row in rows], np.float32)


class QuantizeTest(unittest.TestCase):
    def test_every_value_is_what_onnxruntime_says(self) -> None:
        for kind, points in {"i8": (0, -128, 127, -3), "u8": (0, 128, 255)}.items():
            for scale in (np.float32(1 / 255), np.float32(0.5), np.float32(0.0472)):
                x = values(scale)
                for zero_point in points:
                    want, got = (f(kind, scale, zero_point, x) for f in (reference, target))
                    np.testing.assert_array_equal(got[0], want[0])
                    np.testing.assert_array_equal(got[1], want[1])
                    # The values reach both ends, and most are in between.
                    self.assertGreater(len(np.unique(want[0])), 200)

    def test_nan_is_the_smallest(self) -> None:
        (q, _) = target("i8", np.float32(1), 5, np.array([np.nan], np.float32))
        self.assertEqual(q.tolist(), [-128])


if __name__ == "__main__":
    unittest.main()
