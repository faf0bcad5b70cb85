"""Imports Resize in the modes that IREE's importer does not know."""

from __future__ import annotations

from typing import Any
from unittest import main, mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.frontends import onnx_resizes, onnx_rewrites

_RANDOM = "np.random.default_rng(0).standard_normal((1, 2, 6, 5)).astype(np.float32)"
_CASES = f"return Cases((({_RANDOM},),), Tolerance(1e-4, 1e-4))"
_SCALES: dict[str, tuple[tuple[float, ...], dict[str, Any]]] = {
    "a": ((1, 1, 0.6, 0.5), {"mode": "linear", "antialias": 1}),
    "b": ((1, 1, 0.6, 0.5), {"mode": "cubic", "antialias": 1}),
    "c": ((1, 1, 1.7, 2), {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5}),
    "d": ((2, 1.5), {"mode": "linear", "axes": [3, 2]}),
    "e": ((1, 1, 2, 3), {"mode": "nearest", "coordinate_transformation_mode": "align_corners"}),
    "f": (
        (1, 1, 1.5, 0.7),
        {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
    ),
    "g": ((1, 1, 0.6, 2.5), {"mode": "linear", "coordinate_transformation_mode": "align_corners"}),
}
_SIZES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "h": ((4, 9), {"mode": "nearest", "axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}),
    "i": ((4, 9), {"mode": "nearest", "axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}),
    "j": (
        (1, 2, 3, 4),
        {
            "mode": "linear",
            "coordinate_transformation_mode": "tf_crop_and_resize",
            "extrapolation_value": 7.0,
        },
    ),
}


def _model() -> onnx.ModelProto:
    make, info = helper.make_node, helper.make_tensor_value_info
    region = np.array([0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7], np.float32)
    weights = {"region": region}
    nodes = []
    for name, (scales, given) in _SCALES.items():
        weights[f"s{name}"] = np.array(scales, np.float32)
        nodes.append(make("Resize", ["x", "", f"s{name}"], [name], **given))
    for name, (sizes, given) in _SIZES.items():
        weights[f"s{name}"] = np.array(sizes, np.int64)
        where = "region" if name == "j" else ""
        nodes.append(make("Resize", ["x", where, "", f"s{name}"], [name], **given))
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, [1, 2, 6, 5])],
        [info(node.output[0], TensorProto.FLOAT, None) for node in nodes],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)


class ResizesTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_these_modes(self) -> None:
        self.agrees(self.load(_model(), _CASES))

    def test_without_it_iree_refuses(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        others = tuple(each for each in onnx_rewrites.WHOLE if each != onnx_resizes.rewrite)
        with mock.patch.object(onnx_rewrites, "WHOLE", others):
            self.rejects("op-rejected", "'Resize'", data=_model(), cases=_CASES)


if __name__ == "__main__":
    main()
