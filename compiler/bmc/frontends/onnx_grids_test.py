"""Imports GridSample in all modes."""

from __future__ import annotations

import itertools
from unittest import main, mock

import onnx
import support
from onnx import TensorProto, helper

from bmc.frontends import onnx_grids, onnx_rewrites

# Some points lie far outside, one on the border.
_CASES = """
    rng = np.random.default_rng(0)
    grid = rng.uniform(-1.7, 1.7, (2, 3, 4, 2)).astype(np.float32)
    grid[0, 0, 0] = (1, -1)
    return Cases(((rng.standard_normal((2, 3, 4, 5)).astype(np.float32), grid),), Tolerance(1e-4, 1e-4))"""
_MODES = list(
    itertools.product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection"), (0, 1))
)


def _model() -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    nodes = [
        helper.make_node(
            "GridSample", ["x", "g"], [f"y{number}"], mode=mode, padding_mode=padding, align_corners=corners
        )
        for number, (mode, padding, corners) in enumerate(_MODES)
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, [2, 3, 4, 5]), info("g", TensorProto.FLOAT, [2, 3, 4, 2])],
        [info(node.output[0], TensorProto.FLOAT, [2, 3, 3, 4]) for node in nodes],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


class GridsTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_all_modes(self) -> None:
        self.agrees(self.load(_model(), _CASES))

    def test_without_it_iree_refuses(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        others = tuple(each for each in onnx_rewrites.WHOLE if each != onnx_grids.rewrite)
        with mock.patch.object(onnx_rewrites, "WHOLE", others):
            self.rejects("op-rejected", "'GridSample'", data=_model(), cases=_CASES)


if __name__ == "__main__":
    main()
