"""Imports ONNX models whose results have as many elements as they find; the expected outputs are onnxruntime's."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc import golden
from bmc.frontends import onnx_bounded, onnx_file, onnx_static

_F32, _I64, _BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
# Boxes that overlap, many of one size, equal scores; the second case finds other numbers of everything.
_CASES = """rng = np.random.default_rng(0)
    def case(low):
        corners = rng.integers(0, 7, (2, 12, 2)).astype(np.float32)
        boxes = np.concatenate((corners, corners + 8), 2)[:, :, [0, 3, 2, 1]]
        scores = rng.integers(low, 9, (2, 3, 12)).astype(np.float32) / 10
        x = rng.integers(low, 4, (3, 5)).astype(np.float32)
        return boxes, scores, x, x[0] > 1
    return Cases((case(0), case(-20)), Exact())"""
_WEIGHTS = {
    "most": np.array([4]),
    "overlap": np.array([0.2], np.float32),
    "least": np.array([0.2], np.float32),
    "third": np.array([2]),
    "second": np.array(1),
    "first": np.array([0]),
    "none": np.array(0),
    "one": np.array([1]),
}


def _model(nodes: list[Any], outputs: dict[str, int]) -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [
            info("boxes", _F32, [2, 12, 4]),
            info("scores", _F32, [2, 3, 12]),
            info("x", _F32, [3, 5]),
            info("flags", _BOOL, [5]),
        ],
        [info(name, element, None) for name, element in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in _WEIGHTS.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def _found() -> onnx.ModelProto:
    make = helper.make_node
    nodes = [
        make("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["chosen"]),
        # What detectors do with it.
        make("Gather", ["chosen", "second"], ["classes"], axis=1),
        make("Slice", ["chosen", "first", "third", "one"], ["pairs"]),
        make("GatherND", ["scores", "chosen"], ["values"]),
        make("Compress", ["x", "flags"], ["columns"], axis=1),
        make("Transpose", ["columns"], ["rows"]),
        make("Compress", ["x", "flags"], ["some"]),
        make("NonZero", ["x"], ["places"]),
        make("Unique", ["x"], ["values_of_x", "firsts", "inverse", "numbers"]),
        make("Unique", ["x"], ["distinct"], axis=1, sorted=0),
    ]
    return _model(nodes, {
        "classes": _I64, "pairs": _I64, "values": _F32, "rows": _F32, "some": _F32, "places": _I64,
        "values_of_x": _F32, "firsts": _I64, "inverse": _I64, "numbers": _I64, "distinct": _F32,
    })  # fmt: skip


class CountsTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_largest_sizes_and_counts(self) -> None:
        imported = self.load(_found(), _CASES)
        self.agrees(imported)
        self.describes(
            imported,
            "boxes: 2x12x4xf32", "scores: 2x3x12xf32", "x: 3x5xf32", "flags: 5xbool",
            "classes: 24xi64", "pairs: 24x2xi64", "values: 24xf32", "rows: 5x3xf32", "some: 5xf32", "places: 2x15xi64",
            "values_of_x: 15xf32", "firsts: 15xi64", "inverse: 15xi64", "numbers: 15xi64", "distinct: 3x5xf32",
            "classes_count: i32", "rows_count: i32", "some_count: i32", "places_count: i32", "values_of_x_count: i32",
            "distinct_count: i32",
        )  # fmt: skip
        for inputs, outputs in zip(imported.golden.inputs, imported.golden.outputs, strict=True):
            named = dict(zip([info.name for info in imported.outputs], outputs, strict=True))
            x, flags = inputs[2:]
            values, numbers = np.unique(x, return_counts=True)
            count = named["values_of_x_count"]
            self.assertEqual(count, values.size)
            np.testing.assert_array_equal(named["values_of_x"][:count], values)
            np.testing.assert_array_equal(named["numbers"][:count], numbers)
            self.assertEqual(named["places_count"], np.count_nonzero(x))
            self.assertEqual(named["rows_count"], flags.sum())
            np.testing.assert_array_equal(named["rows"][: flags.sum()], x[:, flags].T)
            self.assertFalse(named["rows"][flags.sum() :].any())
        counts = [outputs[-6] for outputs in imported.golden.outputs]
        self.assertLess(counts[1], counts[0])
        self.assertLess(counts[0], 24)
        self.assertIn(
            "output rows has 5 elements along dimension 0, the most that it can have; output rows_count says how many"
            " are real, and zeros follow them",
            imported.notes,
        )

    def test_other_ops_have_to_know_the_number(self) -> None:
        compress = helper.make_node("Compress", ["x", "flags"], ["some"])
        for node in (
            helper.make_node("ReduceMax", ["some"], ["y"], keepdims=0),
            helper.make_node("CumSum", ["some", "none"], ["y"]),
        ):
            model = _model([compress, node], {"y": _F32, "some": _F32})
            self.rejects("dynamic-shape", "'Compress' finds in the data", data=model, cases=_CASES)
        with mock.patch.object(onnx_static, "with_counts", side_effect=lambda file, _: file):
            model = _model([compress], {"some": _F32})
            self.rejects("dynamic-shape", "op 'Compress' finds", data=model, cases=_CASES)

    def test_what_onnxruntime_would_refuse_stays(self) -> None:
        make = helper.make_node
        suppress = ["boxes", "scores", "none", "overlap", "least"]
        found = make("NonZero", ["flags"], ["found"])
        for nodes in (
            [make("NonMaxSuppression", ["boxes", "x", "most"], ["y"])],
            [make("NonMaxSuppression", suppress, ["y"])],
            [make("Compress", ["x", "flags"], ["y"], axis=9)],
            [found, make("Transpose", ["found"], ["y"], perm=[0, 0])],
            [make("Own", ["x"], ["z"], domain="own"), found, make("Gather", ["z", "found"], ["y"])],
        ):
            model = _model(nodes, {"y": _F32})
            model.opset_import.add(domain="own", version=1)
            file = onnx_file.parse(model.SerializeToString(), "model.onnx")
            counted = onnx_static.with_counts(file, golden.fix(file.inputs, None))
            self.assertEqual(counted.output_names, ("y",), nodes)

    def test_onnxruntime_may_fold_the_padding(self) -> None:
        file = onnx_file.parse(_found().SerializeToString(), "model.onnx")
        inputs = golden.fix(file.inputs, None)
        counted = onnx_static.with_counts(file, inputs)
        self.assertEqual(len(counted.output_names), len(file.output_names) + 6)
        made = onnx_static.make(counted, inputs, (), fold=True)
        kinds = {node.op_type for node in made.graph.node}
        self.assertFalse(kinds & onnx_bounded.MAKERS.keys())


if __name__ == "__main__":
    unittest.main()
