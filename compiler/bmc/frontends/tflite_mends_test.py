"""Files that LiteRT refuses, or that leave open what is known, and that other runtimes run."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np
import support
from ai_edge_litert import schema_py_generated as schema
from tflite_graph import Graph

from bmc.frontends import tflite_mends

_RNG = np.random.default_rng(0)


def _floats(*shape: int) -> Any:
    return _RNG.standard_normal(shape).astype(np.float32)


def _dense(channels: int, scales: int, *, bias_dimension: int, weight_dimension: int = 0) -> bytes:
    """Returns a product of bytes with so many scales, quantized along these dimensions."""
    made = Graph()
    x, y = made.tensor("x", (1, 8), "int8"), made.tensor("y", (1, channels), "int8")
    weights = made.constant("w", _RNG.integers(-99, 99, (channels, 8), np.int8))
    bias = made.constant("b", _RNG.integers(-99, 99, channels, np.int32))
    made.quantize(x, 0.1)
    made.quantize(y, 0.5)
    for tensor, dimension in ((weights, weight_dimension), (bias, bias_dimension)):
        quantization = schema.QuantizationParametersT()
        quantization.scale = [0.01 * (0.1 if tensor == bias else 1)] * scales
        quantization.zeroPoint = [0] * scales
        quantization.quantizedDimension = dimension
        made.graph.tensors[tensor].quantization = quantization
    made.op("FULLY_CONNECTED", [x, weights, bias], [y], options="FullyConnectedOptions")
    return made.file([x], [y])


class TfliteMendsTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_dimensions_that_nothing_reads(self) -> None:
        for scales, data in (
            (1, _dense(4, 1, bias_dimension=3, weight_dimension=5)),
            (4, _dense(4, 4, bias_dimension=3)),
        ):
            with self.subTest(scales):
                model = self.load(data)
                self.assertIn("LiteRT refuses it", model.notes[0])
                self.agrees(model)
        self.rejects(
            "bad-file",
            "quantized_dimension",
            data=_dense(4, 4, bias_dimension=0, weight_dimension=2),
        )

    def test_constants_with_a_scale_of_zero(self) -> None:
        made = Graph()
        x, zeros = made.tensor("x", (4,), "int16"), made.constant("zeros", np.zeros(4, np.int16))
        y = made.tensor("y", (4,), "int16")
        for tensor, scale in ((x, 0.01), (zeros, 0.0), (y, 0.02)):
            made.quantize(tensor, scale)
        made.op("ADD", [x, zeros], [y], 2, options="AddOptions", potScaleInt16=False)
        data = made.file([x], [y])
        # Without the mend, LiteRT ends the process.
        model = self.load(data)
        self.assertIn("a scale of 0, 'zeros'", model.notes[0])
        self.agrees(model)
        made.quantize(x, 0.0)
        self.rejects(
            "unsupported-quantization", "tensor 'x' in 'model.tflite'", data=made.file([x], [y])
        )

    def test_a_shape_that_is_an_input(self) -> None:
        made = Graph()
        x, size, y = (
            made.tensor("x", (1, 3, 3, 2)),
            made.tensor("size", (4,), "int32"),
            made.tensor("y", (1, 6, 6, 5)),
        )
        weights = made.constant("w", _floats(5, 2, 2, 2))
        options: dict[str, Any] = {
            "options": "TransposeConvOptions",
            "strideW": 2,
            "strideH": 2,
            "padding": schema.Padding.SAME,
        }
        made.op("TRANSPOSE_CONV", [size, weights, x], [y], **options)
        data = made.file([x, size], [y])
        model = self.load(data)
        self.assertIn("takes shapes of results as inputs", model.notes[0])
        self.assertIn("'size' to [1, 6, 6, 5]", model.notes[0])
        self.assertEqual([each.name for each in model.inputs], ["x"])
        self.agrees(model)
        with mock.patch.object(tflite_mends, "fold_sizes", return_value=""):
            self.rejects("model-failed", "TRANSPOSE_CONV", data=data)
        # An input of which something else is computed, too, is an input.
        copy = made.tensor("copy", (4,), "int32")
        made.op("ADD", [size, size], [copy], options="AddOptions")
        self.rejects("model-failed", "TRANSPOSE_CONV", data=made.file([x, size], [y, copy]))

    def test_a_first_buffer_without_bytes(self) -> None:
        made = Graph()
        x, y = (made.tensor(name, (2, 4)) for name in "xy")
        made.op("TANH", [x], [y])
        made.model.buffers[0].data = np.zeros(0, np.uint8)
        self.agrees(self.load(made.file([x], [y])))


if __name__ == "__main__":
    unittest.main()
