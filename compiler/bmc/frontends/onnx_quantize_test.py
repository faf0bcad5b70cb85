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
from bmc.spec import Tolerance

_RNG = np.random.default_rng(0)
_CASES = (
    "r = np.random.default_rng(0); d = lambda n: tuple((r.standard_normal({}).astype(np.float32),)"
    " for _ in range(n)); return Cases(d(2), Tolerance(.02, .02), calibration=d(16))"
)

# As loud as 1 and as soft as 1e-4, whose squares are 1e-8.
_LOUD_AND_SOFT = (
    "r = np.random.default_rng(0); d = lambda n: tuple(((r.standard_normal((1, 16)) * 10.0 ** -r.integers(0, 5))"
    ".astype(np.float32),) for _ in range(n)); return Cases(d(2), (), calibration=d(16))"
)


def _random(*shape: int) -> Array:
    return _RNG.standard_normal(shape).astype(np.float32)


_LOUD = tuple(_random(1, 16) * np.float32(10.0**-power) for power in range(5))
_EVEN = np.linspace(-1, 1, 16, dtype=np.float32).reshape(8, 2)


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


def _log_mel() -> onnx.ModelProto:
    """Returns a model of the logarithm of sums of squares, and what is made of it."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["power"]),
        helper.make_node("MatMul", ["power", "bank"], ["sums"], name="mel"),
        helper.make_node("Add", ["sums", "least"], ["guarded"]),
        helper.make_node("Log", ["guarded"], ["log"]),
        helper.make_node("MatMul", ["log", "w"], ["y"]),
    ]
    bank = np.kron(np.eye(4), np.ones((4, 1))).astype(np.float32)
    weights = {"bank": bank, "least": np.array(1e-9, np.float32), "w": _EVEN[:4]}
    return _model((1, 16), nodes, weights)


def _quantized_inputs(model: onnx.ModelProto, calibration: tuple[Array, ...]) -> set[str]:
    """Returns the names of the values that become int8."""
    file = onnx_file.parse(model.SerializeToString(), "x")
    inputs = (TensorInfo("x", DType.F32, calibration[0].shape),)
    quantized, _ = onnx_quantize.quantize(file, inputs, tuple((each,) for each in calibration))
    return {n.input[0] for n in quantized.model.graph.node if n.op_type == "QuantizeLinear"}


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
        (quantized, _) = onnx_quantize.quantize(file, inputs, ((_random(1, 3, 4, 4),),))
        graph = quantized.model.graph
        found = {n.input[0]: n.input[1] for n in graph.node if n.op_type == "QuantizeLinear"}
        # Neither within the hard swish nor before the concatenation.
        self.assertEqual(found.keys(), {"x", "a", "r", "e", "p", "t"})
        self.assertEqual(found["p"], found["e"])

    def test_a_product_before_a_logarithm_stays_f32(self) -> None:
        loaded = self.load(_log_mel(), _LOUD_AND_SOFT, quantize=INT8)
        self.agrees(loaded)
        (note,) = (note for note in loaded.notes if "logarithm" in note)
        self.assertRegex(note, "'mel' stays f32: in int8, the logarithm 'log' behind is off by")
        exact = onnx_file.parse(_log_mel().SerializeToString(), "x").run(loaded.golden.inputs)
        largest = np.abs(exact[0][0]).max()
        np.testing.assert_allclose(loaded.golden.outputs[0][0], exact[0][0], atol=0.1 * largest)
        self.assertEqual(len(_quantized_inputs(_log_mel(), _LOUD)), 1)

    def test_a_product_of_what_is_small_beside_the_rest_stays_f32(self) -> None:
        weights = {"small": _random(16, 5), "w": _random(5, 3)}
        weights["small"][0] = 0
        nodes = [
            helper.make_node("MatMul", ["x", "small"], ["s"], name="lost"),
            helper.make_node("MatMul", ["s", "w"], ["y"], name="kept"),
        ]
        model = _model((1, 32, 16), nodes, weights)
        alike = tuple(_random(1, 32, 16) for _ in range(4))
        self.assertEqual(_quantized_inputs(model, alike), {"x", "s"})
        apart = tuple(case.copy() for case in alike)
        for case in apart:
            case[..., 0] = 200
        self.assertEqual(_quantized_inputs(model, apart), {"s"})
        file = onnx_file.parse(model.SerializeToString(), "x")
        inputs = (TensorInfo("x", DType.F32, (1, 32, 16)),)
        cases = tuple((case,) for case in apart)
        quantized, (note,) = onnx_quantize.quantize(file, inputs, cases)
        self.assertRegex(note, "'lost' stays f32: in int8, results are off by ..% of their")
        for (want,), (got,) in zip(file.run(cases), quantized.run(cases), strict=True):
            np.testing.assert_allclose(got, want, atol=0.05 * np.abs(want).max())

    def test_a_product_before_a_logarithm_of_large_numbers_becomes_int8(self) -> None:
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["m"]),
            helper.make_node("Abs", ["m"], ["a"]),
            helper.make_node("Add", ["a", "one"], ["b"]),
            helper.make_node("Log", ["b"], ["y"]),
        ]
        weights = {"w": _random(16, 5), "one": np.array(1, np.float32)}
        weights["w"][0] = 0
        model = _model((1, 16), nodes, weights)
        case = _random(1, 16)
        self.assertEqual(_quantized_inputs(model, (case,)), {"x"})
        # It is not for the logarithm if that is as wrong as what it reads.
        case[0, 0] = 200
        self.assertEqual(_quantized_inputs(model, (case,)), {"x"})

    def test_int8_would_lose_all_products(self) -> None:
        model = _log_mel()
        del model.graph.node[-1]
        model.graph.output[0].name = "log"
        self.rejects(
            "quantize-rejected",
            "int8 loses what the products of 'model.onnx' compute: in int8, the logarithm 'log' behind is off by",
            data=model,
            cases=_LOUD_AND_SOFT,
            quantize=INT8,
        )

    def test_a_transform_is_one_product(self) -> None:
        """Beside onnxruntime's own STFT and DFT, which int8 cannot change."""
        window = np.hanning(16).astype(np.float32)
        step = {"step": np.array(8), "window": window}
        frames = helper.make_node("STFT", ["u", "step", "window"], ["y"], onesided=1)
        column = [helper.make_node("Unsqueeze", ["x", "last"], ["u"])]
        spectrum = helper.make_node("DFT", ["u", "length"], ["y"], axis=1, onesided=1)
        for name, node, weights in (
            ("STFT", frames, step),
            ("whole DFT", helper.make_node("DFT", ["u"], ["y"], axis=1), {}),
            ("padded DFT", spectrum, {"length": np.array(80)}),
        ):
            with self.subTest(name):
                model = _model((1, 64), [*column, node], {"last": np.array([-1]), **weights})
                loaded = self.load(model, _CASES.format((1, 64)), quantize=INT8)
                self.agrees(loaded)
                self.assertIn("one matrix", "".join(loaded.notes))
                self.assertIn(b"quantize_affine", loaded.mlir.read_bytes())
                exact = onnx_file.parse(model.SerializeToString(), "x").run(loaded.golden.inputs)
                np.testing.assert_allclose(loaded.golden.outputs[0][0], exact[0][0], atol=0.5)

    def test_the_tolerance_is_what_roundings_move(self) -> None:
        model = _model((1, 8), [helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": _EVEN})
        inputs = {
            "between two steps": "[-128, 127, 0.5, 1.5, 2.5, -0.5, 7.5, 9.5]",
            "at steps": "[-128, 127, 1, 2, 3, -1, 7, 9]",
        }
        cases = "x = np.array([{}], np.float32); return Cases(((x,),), (), calibration=((x,),))"
        between, at = (
            self.load(model, cases.format(each), quantize=INT8) for each in inputs.values()
        )
        self.assertRegex("".join(between.notes), "the tolerance is .*% of the largest element")
        self.assertEqual(at.notes, ())
        shares = []
        for model in (between, at):
            (policy,) = model.golden.policies
            assert isinstance(policy, Tolerance)
            shares.append(policy.atol / np.abs(model.golden.outputs[0][0]).max())
        # Six numbers of 127 move by a step, and the tolerance is no more than twice that.
        self.assertGreater(shares[0], 1e-3)
        self.assertLess(shares[0], 2 * 6 / 127)
        self.assertLess(shares[1], 1.1e-5)

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
