"""Places that WHERE finds, as outputs of .tflite files: as LiteRT finds them, with zeros behind them and a count."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import support
import tensorflow as tf
import tflite_kit
from tflite_graph import Graph

_CASES = """
    rng = np.random.default_rng(0)
    cases = [(rng.standard_normal((2, 3, 5)).astype(np.float32),) for _ in range(3)]
    cases += [(np.full((2, 3, 5), value, np.float32),) for value in (-1, 1)]
    return Cases(tuple(cases), {})"""


def _network(x: tf.Tensor) -> Any:
    """Finds places of three dimensions, and of one behind them."""
    return tf.where(x > 0.5), tf.exp(x), tf.where(x[0, 1] <= 0.0)


class TfliteCountsTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_places(self) -> None:
        data = tflite_kit.convert(_network, tflite_kit.tensor(2, 3, 5))
        model = self.load(data, _CASES.format("(Exact(), Tolerance(1e-6, 1e-6), Exact())"))
        own = ("Identity: 30x3xi64", "Identity_1: 2x3x5xf32", "Identity_2: 5x1xi64")
        counts = ("Identity_count: i32", "Identity_2_count: i32")
        self.describes(model, "x: 2x3x5xf32", *own, *counts)
        for case, expected in zip(model.golden.inputs, model.golden.outputs, strict=True):
            for mask, found, count in (
                (case[0] > 0.5, expected[0], expected[3]),
                (case[0][0, 1] <= 0, expected[2], expected[4]),
            ):
                want = np.argwhere(mask)
                self.assertEqual(count, len(want))
                np.testing.assert_array_equal(found[:count], want)
                self.assertFalse(found[count:].any())
        self.agrees(model)
        self.assertIn(
            "output Identity has 30 elements along dimension 0, the most that it can have;"
            " output Identity_count says how many are real, and zeros follow them",
            model.notes,
        )

    def test_numbers(self) -> None:
        made, results = Graph(), []
        values = [0, 1, -2, 0, 0, 7, 0, 0, 0, 3, 0]
        inputs, arrays = [], []
        for kind in ("float32", "int8", "int32", "int64"):
            inputs.append(made.tensor(f"x_{kind}", (11,), kind))
            results.append(made.tensor(f"y_{kind}", (4, 1), "int64"))
            made.op("WHERE", inputs[-1:], results[-1:])
            arrays.append(f"np.array({values}, np.{kind})")
        cases = f"return Cases((({', '.join(arrays)}),), Exact())"
        model = self.load(made.file(inputs, results), cases)
        (outputs,) = model.golden.outputs
        self.assertEqual(outputs[0].ravel().tolist(), [1, 2, 5, 9, *[0] * 7])
        self.agrees(model)

    def test_what_is_read_by_other_ops_is_refused(self) -> None:
        said = "op 'WHERE' gives as many results as it finds"
        for function in (
            lambda x: tf.gather_nd(x, tf.where(x > 0.0)),
            lambda x: (tf.where(x > 0.0), tf.where(x > 0.0) + 1),
        ):
            data = tflite_kit.convert(function, tflite_kit.tensor(2, 3))
            self.rejects("dynamic-shape", said, data=data)


if __name__ == "__main__":
    unittest.main()
