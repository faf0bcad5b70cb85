"""Imports RoiAlign, DeformConv and a Loop that stacks what its steps return; the expected outputs are onnxruntime's.

It does not know DeformConv, which the standard's reference computes."""

from __future__ import annotations

from typing import Any
from unittest import main, mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.frontends import onnx_regions, onnx_rewrites, onnx_stacks, onnx_static

_F32, _I64 = TensorProto.FLOAT, TensorProto.INT64
_RNG = np.random.default_rng(3)
# Regions reach beyond the images and one is empty, as offsets do.
_CASES = """rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 4, 7, 9)).astype(np.float32)
    regions = rng.uniform(-4, 20, (5, 4)).astype(np.float32)
    regions = np.concatenate((regions[:, :2], regions[:, :2] + abs(regions[:, 2:])), 1)
    regions[0, 2:] = regions[0, :2]
    offsets = rng.uniform(-3, 3, (2, 2 * 6 * 2, 3, 4)).astype(np.float32)
    mask = rng.uniform(0, 1, (2, 2 * 6, 3, 4)).astype(np.float32)
    return Cases(((x, regions, np.array([1, 0, 0, 1, 1]), offsets, mask),), Tolerance(2e-5, 2e-5))"""
_WEIGHTS = {
    "filters": _RNG.standard_normal((6, 2, 2, 3)).astype(np.float32),
    "bias": _RNG.standard_normal(6).astype(np.float32),
    "trips": np.array(3),
    "always": np.array(True),
}


def _loop(goes_on: str) -> Any:
    """Multiplies all regions by the number of the step and one, and returns each product."""
    info, make = helper.make_tensor_value_info, helper.make_node
    one = numpy_helper.from_array(np.array(1, np.float32))
    nodes = [
        make("Cast", ["step"], ["number"], to=_F32),
        make("Constant", [], ["one"], value=one),
        make("Add", ["number", "one"], ["factor"]),
        make("Mul", ["state", "factor"], ["next"]),
        make("Identity", ["next"], ["row"]),
        make("Identity", ["before"], ["same"]),
        make("Less", ["factor", "one"], ["ends"]),
    ]
    shape = [5, 4]
    body = helper.make_graph(
        nodes,
        "body",
        [info("step", _I64, []), info("before", TensorProto.BOOL, []), info("state", _F32, shape)],
        [info(goes_on, TensorProto.BOOL, []), info("next", _F32, shape), info("row", _F32, shape)],
    )
    return make("Loop", ["trips", "always", "regions"], ["last", "rows"], body=body)


def _model(*wanted: int, goes_on: str = "same") -> onnx.ModelProto:
    info, make = helper.make_tensor_value_info, helper.make_node
    size = {"output_height": 2, "output_width": 3, "sampling_ratio": 2}
    align = ["x", "regions", "images"]
    nodes = [
        make("RoiAlign", align, ["mean"], spatial_scale=0.5, **size),
        make("RoiAlign", align, ["most"], mode="max", coordinate_transformation_mode="output_half_pixel",
             spatial_scale=0.5, **size),
        make("DeformConv", ["x", "filters", "offsets", "bias", "mask"], ["y"], group=2, offset_group=2,
             strides=[2, 2], dilations=[1, 2], pads=[0, 1, 0, 2]),
        _loop(goes_on),
    ]  # fmt: skip
    nodes = [node for place, node in enumerate(nodes) if place in wanted]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            info("x", _F32, [2, 4, 7, 9]),
            info("regions", _F32, [5, 4]),
            info("images", _I64, [5]),
            info("offsets", _F32, [2, 24, 3, 4]),
            info("mask", _F32, [2, 12, 3, 4]),
        ],
        [info(name, _F32, None) for node in nodes for name in node.output],
        [numpy_helper.from_array(array, name) for name, array in _WEIGHTS.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


class RegionsTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_agrees(self) -> None:
        for wanted in ((0, 1), (2,)):
            self.agrees(self.load(_model(*wanted), _CASES))
        imported = self.load(_model(3), _CASES)
        self.agrees(imported)
        self.assertEqual([info.shape for info in imported.outputs], [(5, 4), (3, 5, 4)])

    def test_without_it_iree_refuses(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        others = tuple(each for each in onnx_rewrites.WHOLE if each != onnx_regions.rewrite)
        with mock.patch.object(onnx_rewrites, "WHOLE", others):
            for place, op in ((0, "RoiAlign"), (2, "DeformConv")):
                self.rejects("op-rejected", f"'{op}'", data=_model(place), cases=_CASES)
        lower = tuple(each for each in onnx_static.LOWER if each != onnx_stacks.apply)
        with mock.patch.object(onnx_static, "LOWER", lower):
            self.rejects("op-rejected", "'Loop'", data=_model(3), cases=_CASES)

    def test_a_loop_with_too_many_outputs_stays(self) -> None:
        model = _model(3)
        model.graph.node[0].output.append("more")
        before = model.SerializeToString()
        self.assertFalse(onnx_stacks.apply(model))
        self.assertEqual(model.SerializeToString(), before)

    def test_a_loop_that_may_end_earlier_stays(self) -> None:
        self.rejects("op-rejected", "'Loop'", data=_model(3, goes_on="ends"), cases=_CASES)


if __name__ == "__main__":
    main()
