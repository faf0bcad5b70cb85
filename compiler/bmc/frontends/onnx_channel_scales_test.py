"""Imports QLinearConv with a scale for each channel; IREE's host runtime must agree with onnxruntime."""

from __future__ import annotations

from unittest import main, mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.dtype import Array
from bmc.frontends import onnx_channel_scales

_RNG = np.random.default_rng(0)


def _model(group: int, channels: int, *, bias: bool = True) -> onnx.ModelProto:
    values: dict[str, Array] = {
        "x_scale": np.array(0.05, np.float32),
        "x_zero": np.array(3, np.uint8),
        "w": _RNG.integers(-100, 100, (channels, 6 // group, 3, 2)).astype(np.int8),
        "w_scale": _RNG.uniform(0.01, 0.05, channels).astype(np.float32),
        "w_zero": np.zeros(channels, np.int8),
        "y_scale": np.array(0.9, np.float32),
        "y_zero": np.array(120, np.uint8),
    }
    if bias:
        values["b"] = _RNG.integers(-500, 500, channels).astype(np.int32)
    options = {"group": group, "pads": [1, 2, 1, 0], "dilations": [1, group]}
    graph = helper.make_graph(
        [helper.make_node("QLinearConv", ["x", *values], ["y"], **options)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 6, 9, 8])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(array, name) for name, array in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


class ChannelScalesTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_groups_with_and_without_a_bias(self) -> None:
        for model in (_model(1, 4), _model(2, 4, bias=False), _model(6, 6)):
            self.agrees(self.load(model))

    def test_without_it_iree_disagrees(self) -> None:
        # If this is accepted, IREE's importer has been mended.
        with mock.patch.object(onnx_channel_scales, "rewrite", return_value=False):
            self.rejects("import-disagrees", "output y", data=_model(1, 4))


if __name__ == "__main__":
    main()
