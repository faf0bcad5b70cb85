"""Imports average pools with dilations and with windows that end behind the padding."""

from __future__ import annotations

from unittest import main, mock

import onnx
import support
from onnx import TensorProto, helper

from bmc.frontends import onnx_averages, onnx_rewrites

_CASES = "return Cases(((np.arange(98, dtype=np.float32).reshape(1, 2, 7, 7) % 5,),), Tolerance(1e-5, 1e-5))"


def _model() -> onnx.ModelProto:
    make, info = helper.make_node, helper.make_tensor_value_info
    pool = {"kernel_shape": [3, 2]}
    nodes = [
        make("AveragePool", ["x"], ["a"], dilations=[2, 3], **pool),
        make("AveragePool", ["x"], ["b"], strides=[3, 3], ceil_mode=1, **pool),
        make(
            "AveragePool", ["x"], ["c"], strides=[3, 2], pads=[1, 0, 0, 1], ceil_mode=1,
            count_include_pad=1, dilations=[1, 2], **pool,
        ),
        make("AveragePool", ["x"], ["d"], dilations=[2, 2], strides=[2, 3], pads=[2, 1, 1, 1], **pool),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, [1, 2, 7, 7])],
        [info(name, TensorProto.FLOAT, None) for name in "abcd"],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


class AveragesTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_are_right(self) -> None:
        self.agrees(self.load(_model(), _CASES))

    def test_without_it_iree_is_wrong(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        others = tuple(each for each in onnx_rewrites.WHOLE if each != onnx_averages.rewrite)
        with mock.patch.object(onnx_rewrites, "WHOLE", others):
            self.rejects("import-disagrees", "output", data=_model(), cases=_CASES)


if __name__ == "__main__":
    main()
