"""MediaPipe's transposed convolution with a bias, in NumPy and in LiteRT's fast kernels, which have it."""

from __future__ import annotations

import struct
import unittest
from typing import Any

import numpy as np
import support
from ai_edge_litert.interpreter import Interpreter
from tflite_graph import Graph

_RNG = np.random.default_rng(0)
_SAME, _VALID = 1, 2


def _floats(*shape: int) -> Any:
    return _RNG.standard_normal(shape).astype(np.float32)


def _file(
    image: tuple[int, ...],
    weights: Any,
    bias: Any,
    options: bytes,
    result: tuple[int, ...] = (1, 1, 1, 1),
) -> bytes:
    made = Graph()
    x, y = made.tensor("x", image), made.tensor("y", result)
    inputs = [x, made.constant("weights", weights), made.constant("bias", bias)]
    made.custom("Convolution2DTransposeBias", inputs, [y], options)
    return made.file([x], [y])


def _scattered(x: Any, weights: Any, bias: Any, padding: int, steps: tuple[int, int]) -> Any:
    """Adds each pixel times the weights to the part of the output that they cover, and cuts the padding off."""
    (batch, *sizes, _), (channels, *lengths, _) = x.shape, weights.shape
    whole = [s * (n - 1) + k for s, n, k in zip(steps, sizes, lengths, strict=True)]
    y = np.zeros((batch, *whole, channels), np.float64)
    for row in range(sizes[0]):
        for column in range(sizes[1]):
            top, left = row * steps[0], column * steps[1]
            part = np.einsum("bi,okli->bklo", x[:, row, column], weights)
            y[:, top : top + lengths[0], left : left + lengths[1]] += part
    if padding == _SAME:
        cut = [max(0, k - (n - 1) % s - 1) for s, n, k in zip(steps, sizes, lengths, strict=True)]
        y = y[
            :,
            cut[0] // 2 : whole[0] - (cut[0] - cut[0] // 2),
            cut[1] // 2 : whole[1] - (cut[1] - cut[1] // 2),
        ]
    return y + bias


class TfliteMediapipeTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_paddings_and_strides(self) -> None:
        for padding, rows, columns, size in (
            (_SAME, 2, 2, (2, 2)),
            (_SAME, 2, 2, (4, 3)),
            (_SAME, 1, 3, (2, 5)),
            (_VALID, 2, 1, (3, 3)),
        ):
            with self.subTest(padding=padding, rows=rows, columns=columns, size=size):
                weights, bias = _floats(3, *size, 5), _floats(3)
                options = struct.pack("<3i", padding, columns, rows)
                model = self.load(_file((1, 4, 5, 5), weights, bias, options))
                for (x,), (y,) in zip(model.golden.inputs, model.golden.outputs, strict=True):
                    want = _scattered(x, weights, bias, padding, (rows, columns))
                    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)
        self.agrees(model)

    def test_litert_itself(self) -> None:
        weights, bias = _floats(3, 2, 2, 5), _floats(3)
        options = struct.pack("<3i", _SAME, 2, 2)
        data = _file((1, 4, 6, 5), weights, bias, options, (1, 8, 12, 3))
        model = self.load(data)
        (x,), (y,) = model.golden.inputs[0], model.golden.outputs[0]
        own = Interpreter(model_content=data, num_threads=1)
        own.allocate_tensors()
        own.set_tensor(own.get_input_details()[0]["index"], x)
        own.invoke()
        got = own.get_tensor(own.get_output_details()[0]["index"])
        np.testing.assert_allclose(got, y, rtol=1e-5, atol=1e-5)

    def test_options_that_mean_nothing(self) -> None:
        weights, bias = _floats(3, 2, 2, 5), _floats(3)
        for options in (b"", struct.pack("<3i", 0, 2, 2), struct.pack("<3i", _SAME, 0, 2)):
            data = _file((1, 4, 4, 5), weights, bias, options)
            self.rejects("op-rejected", "'Convolution2DTransposeBias'", data=data)
        flat = _file((4, 5), weights, bias, struct.pack("<3i", _SAME, 2, 2))
        self.rejects("op-rejected", "does not understand", data=flat)


if __name__ == "__main__":
    unittest.main()
