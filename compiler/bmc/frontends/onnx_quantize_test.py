"""Quantizes ONNX files as people publish them: of any opset, with axes, biases and names of every kind."""

from __future__ import annotations

from unittest import main

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.artifacts import TensorInfo
from bmc.dtype import Array, DType
from bmc.frontends import onnx_file, onnx_quantize
from bmc.frontends.options import INT8

_RNG = np.random.default_rng(0)
_CASES = (
    "r = np.random.default_rng(0); d = lambda n: tuple((r.standard_normal({}).astype(np.float32),)"
    " for _ in range(n)); return Cases(d(2), Tolerance(.02, .02), calibration=d(16))"
)


def _random(*shape: int) -> Array:
    return _RNG.standard_normal(shape).astype(np.float32)


def _model(
    shape: tuple[int, ...],
    nodes: list[onnx.NodeProto],
    weights: dict[str, Array],
    opset: int = 17,
) -> onnx.ModelProto:
    """Returns a model of x, whose batch is dynamic, that returns y."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *shape[1:]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


class OnnxQuantizeTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def becomes_int8(self, shape: tuple[int, ...], model: onnx.ModelProto) -> None:
        """Asserts that IREE agrees with onnxruntime's int8 model, which is close to the float model."""
        loaded = self.load(model, _CASES.format(shape), quantize=INT8)
        self.agrees(loaded)
        self.assertIn(b"quantize_affine", loaded.mlir.read_bytes())
        exact = onnx_file.parse(model.SerializeToString(), "x").run(loaded.golden.inputs)
        np.testing.assert_allclose(loaded.golden.outputs[0][0], exact[0][0], atol=0.3)

    def test_old_opsets(self) -> None:
        # Since opset 13, a scale may be one for each channel.
        nodes = [
            helper.make_node("Conv", ["x", "filter", "bias"], ["c"], pads=[1, 1, 1, 1]),
            helper.make_node("Upsample", ["c", "twice"], ["u"]),
            helper.make_node("Squeeze", ["u"], ["y"], axes=[0]),
        ]
        weights = {
            "filter": _random(4, 3, 3, 3) / 4,
            "bias": _random(4),
            "twice": np.array([1, 1, 2, 2], np.float32),
        }
        self.becomes_int8((1, 3, 6, 6), _model((1, 3, 6, 6), nodes, weights, 9))

    def test_axes_that_are_constants(self) -> None:
        nodes = [
            helper.make_node("Unsqueeze", ["x", "axes"], ["u"]),
            helper.make_node("Conv", ["u", "filter"], ["y"], name="conv"),
        ]
        weights = {"axes": np.array([1]), "filter": _random(4, 1, 3, 3) / 4}
        self.becomes_int8((1, 6, 6), _model((1, 6, 6), nodes, weights))

    def test_biases(self) -> None:
        # onnxruntime would name the copies of b as the values that the convolutions compute.
        nodes = [
            helper.make_node("Conv", ["x", "f", "b"], ["b1"]),
            helper.make_node("Conv", ["x", "g", "b"], ["b2"]),
            helper.make_node("Conv", ["x", "h", "b"], ["b3"]),
            helper.make_node("Concat", ["b1", "b2", "b3"], ["c"], axis=1),
            helper.make_node("Flatten", ["c"], ["l"]),
            helper.make_node("Gemm", ["l", "dense", "row"], ["m"]),
            helper.make_node("Gemm", ["m", "turned", "number"], ["y"], transB=1),
        ]
        weights = {
            **{name: _random(2, 3, 3, 3) / 4 for name in "fgh"},
            "b": _random(2),
            "dense": _random(24, 5) / 4,
            "row": _random(1, 5),
            "turned": _random(3, 5) / 4,
            "number": _random(1),
        }
        self.becomes_int8((1, 3, 4, 4), _model((1, 3, 4, 4), nodes, weights))

    def test_what_lies_between_products(self) -> None:
        nodes = [
            helper.make_node("Conv", ["x", "f"], ["c"], name="first"),
            helper.make_node("Add", ["c", "three"], ["s"]),
            helper.make_node("Clip", ["s", "zero", "six"], ["h"]),
            helper.make_node("Mul", ["c", "h"], ["m"]),
            helper.make_node("Div", ["m", "six"], ["a"]),
            helper.make_node("Conv", ["a", "g"], ["d"], name="second"),
            helper.make_node("Concat", ["a", "d"], ["j"], axis=1),
            helper.make_node("Relu", ["j"], ["r"]),
            helper.make_node("Conv", ["r", "k"], ["e"], name="third"),
            helper.make_node("MaxPool", ["e"], ["p"], kernel_shape=[1, 1]),
            helper.make_node("Add", ["a", "p"], ["t"], name="residual"),
            helper.make_node("GlobalAveragePool", ["t"], ["y"], name="mean"),
        ]
        weights = {
            "f": _random(4, 3, 1, 1),
            "g": _random(4, 4, 1, 1),
            "k": _random(4, 8, 1, 1),
            "zero": np.array(0, np.float32),
            "three": np.array(3, np.float32),
            "six": np.array(6, np.float32),
        }
        model = _model((1, 3, 4, 4), nodes, weights)
        file = onnx_file.parse(model.SerializeToString(), "x")
        inputs = (TensorInfo("x", DType.F32, (1, 3, 4, 4)),)
        quantized = onnx_quantize.quantize(file, inputs, ((_random(1, 3, 4, 4),),)).model.graph
        found = {n.input[0]: n.input[1] for n in quantized.node if n.op_type == "QuantizeLinear"}
        # Neither within the hard swish nor before the concatenation.
        self.assertEqual(found.keys(), {"x", "a", "r", "e", "p", "t"})
        self.assertEqual(found["p"], found["e"])

    def test_nothing_to_quantize(self) -> None:
        model = _model((1, 3), [helper.make_node("Relu", ["x"], ["y"])], {})
        self.rejects(
            "quantize-rejected",
            "no matrix product",
            data=model,
            cases=_CASES.format((1, 3)),
            quantize=INT8,
        )


if __name__ == "__main__":
    main()
