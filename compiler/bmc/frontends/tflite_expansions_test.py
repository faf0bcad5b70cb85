"""Imports .tflite files of ops with hard inputs: ends of integers, large logits. IREE must agree with LiteRT."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support
from tflite_graph import Graph

from bmc.frontends import tflite_expansions

_ENDS = "np.array([[-(2**31), 2**31 - 1, -1, 4], [0, 1, 3, 2]], np.int32)"


def _file() -> bytes:
    made = Graph()
    x, shape = made.tensor("x", (2, 4), "int32"), (2, 4)
    depth = made.constant("depth", np.array(4, np.int32))
    values = [made.constant(f"value{number}", np.array(number, np.float32)) for number in (2, -1)]
    bits = [made.constant(f"bit{number}", np.array(number, np.int8)) for number in (1, 0)]
    negative = made.tensor("negative", shape, "int32")
    rows, columns = made.tensor("rows", (*shape, 4)), made.tensor("columns", (2, 4, 4), "int8")
    made.op("NEG", [x], [negative], options="NegOptions")
    made.op("ONE_HOT", [x, depth, *values], [rows], options="OneHotOptions", axis=-1)
    made.op("ONE_HOT", [x, depth, *bits], [columns], options="OneHotOptions", axis=1)
    return made.file([x], [negative, rows, columns])


class TfliteExpansionsTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_they_are_right(self) -> None:
        cases = f"return Cases((({_ENDS},),), Exact())"
        self.agrees(self.load(_file(), cases))
        with mock.patch.object(tflite_expansions, "expand", side_effect=lambda data: data):
            self.rejects("import-disagrees", "negative of case 0", data=_file(), cases=cases)

    def test_large_logits(self) -> None:
        made = Graph()
        x, y = made.tensor("x", (2, 4)), made.tensor("y", (2, 4))
        made.op("LOG_SOFTMAX", [x], [y], options="LogSoftmaxOptions")
        data = made.file([x], [y])
        logits = "np.array([[300, 200, -1636, 299.5], [1, 2, 3, 4]], np.float32)"
        cases = f"return Cases((({logits},),), Tolerance(1e-3, 1e-5))"
        self.agrees(self.load(data, cases))
        with mock.patch.object(tflite_expansions, "expand", side_effect=lambda data: data):
            self.rejects("import-disagrees", "y of case 0", data=data, cases=cases)

    def test_rows_of_tiny_numbers(self) -> None:
        made = Graph()
        x, y = made.tensor("x", (3, 4)), made.tensor("y", (3, 4))
        made.op("L2_NORMALIZATION", [x], [y], options="L2NormOptions")
        data = made.file([x], [y])
        rows = "np.array([[3e-7, -4e-7, 0, 0], [0, 0, 0, 0], [1, 2, -3, 4]], np.float32)"
        cases = f"return Cases((({rows},),), Tolerance(1e-6, 1e-6))"
        self.agrees(self.load(data, cases))
        with mock.patch.object(tflite_expansions, "expand", side_effect=lambda data: data):
            self.rejects("import-disagrees", "y of case 0", data=data, cases=cases)


if __name__ == "__main__":
    unittest.main()
