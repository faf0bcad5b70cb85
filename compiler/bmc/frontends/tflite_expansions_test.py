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

    def right_only_if_expanded(
        self, kind: str, options: str, rows: list[list[float]], tolerance: str
    ) -> None:
        made = Graph()
        shape = (len(rows), len(rows[0]))
        x, y = made.tensor("x", shape), made.tensor("y", shape)
        made.op(kind, [x], [y], options=options)
        data = made.file([x], [y])
        cases = f"return Cases(((np.array({rows}, np.float32),),), {tolerance})"
        self.agrees(self.load(data, cases))
        with mock.patch.object(tflite_expansions, "expand", side_effect=lambda data: data):
            self.rejects("import-disagrees", "y of case 0", data=data, cases=cases)

    def test_what_pools_end_with(self) -> None:
        made = Graph()
        x, q = made.tensor("x", (1, 4, 4, 2)), made.tensor("q", (1, 4, 4, 2), "int8")
        made.quantize(q, 0.05, 7)
        results = []
        for number, (given, kind) in enumerate(((x, "float32"), (q, "int8"))):
            for fused, pool in enumerate(("AVERAGE_POOL_2D", "MAX_POOL_2D", "MAX_POOL_2D"), 1):
                y = made.tensor(f"y{number}{fused}", (1, 2, 2, 2), kind)
                if kind == "int8":
                    made.quantize(y, 0.05, 7)
                options = {"padding": 1, "strideW": 2, "strideH": 2, "filterWidth": 2}
                options |= {"filterHeight": 2, "fusedActivationFunction": fused}
                made.op(pool, [given], [y], options="Pool2DOptions", **options)
                results.append(y)
        data = made.file([x, q], results)
        floats = "np.linspace(-9, 9, 32, dtype=np.float32).reshape(1, 4, 4, 2)"
        whole = "np.arange(-128, 128, 8).astype(np.int8).reshape(1, 4, 4, 2)"
        policies = "(Tolerance(1e-6, 1e-6),) * 3 + (Exact(),) * 3"
        cases = f"return Cases((({floats}, {whole}),), {policies})"
        self.agrees(self.load(data, cases))
        with mock.patch.object(tflite_expansions, "expand", side_effect=lambda data: data):
            self.rejects("import-disagrees", "of case 0", data=data, cases=cases)

    def test_what_is_no_number_has_no_sign(self) -> None:
        made = Graph()
        x, y = made.tensor("x", (4,)), made.tensor("y", (4,))
        made.op("SIGN", [x], [y])
        cases = "return Cases(((np.array([-2, 0, np.nan, np.inf], np.float32),),), Exact())"
        data = made.file([x], [y])
        self.agrees(self.load(data, cases))
        with mock.patch.object(tflite_expansions, "expand", side_effect=lambda data: data):
            self.rejects("import-disagrees", "y of case 0", data=data, cases=cases)

    def test_slices_that_begin_before_or_end_behind_the_tensor(self) -> None:
        made = Graph()
        x = made.tensor("x", (2, 5, 4))
        results = []
        for number, (size, bounds, masks) in enumerate(
            (
                ((2, 3, 4), ((0, -9, 0), (2, 3, 4), (1, 1, 1)), {}),
                ((2, 2, 3), ((0, 1, -3), (2, 99, 2**31 - 1), (1, 3, 1)), {}),
                ((2, 4), ((0, -1, 0), (9, 0, 9), (1, 1, 1)), {"shrinkAxisMask": 2}),
            )
        ):
            y = made.tensor(f"y{number}", size)
            parts = [
                made.constant(f"part{number}_{place}", np.array(part, np.int32))
                for place, part in enumerate(bounds)
            ]
            made.op("STRIDED_SLICE", [x, *parts], [y], options="StridedSliceOptions", **masks)
            results.append(y)
        data = made.file([x], results)
        x_ = "np.arange(40, dtype=np.float32).reshape(2, 5, 4)"
        cases = f"return Cases((({x_},),), Exact())"
        self.agrees(self.load(data, cases))
        with mock.patch.object(tflite_expansions, "expand", side_effect=lambda data: data):
            texts = "makes no valid module of 'model.tflite'", "start values must be non-negative"
            self.rejects("op-rejected", *texts, data=data, cases=cases)

    def test_large_logits(self) -> None:
        rows: list[list[float]] = [[300, 200, -1636, 299.5], [1, 2, 3, 4]]
        close = "Tolerance(1e-3, 1e-5)"
        self.right_only_if_expanded("LOG_SOFTMAX", "LogSoftmaxOptions", rows, close)

    def test_rows_of_tiny_numbers(self) -> None:
        rows: list[list[float]] = [[3e-7, -4e-7, 0, 0], [0, 0, 0, 0], [1, 2, -3, 4]]
        close = "Tolerance(1e-6, 1e-6)"
        self.right_only_if_expanded("L2_NORMALIZATION", "L2NormOptions", rows, close)


if __name__ == "__main__":
    unittest.main()
