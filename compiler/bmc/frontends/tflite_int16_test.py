"""Files with int16 activations and int8 weights match LiteRT's reference kernels bit for bit."""

from __future__ import annotations

import math
import unittest
from typing import Any

import numpy as np
import support
import tensorflow as tf
import tflite_kit
from ai_edge_litert import schema_py_generated as schema
from iree.compiler import ir
from numpy.typing import NDArray
from tflite_graph import Graph

from bmc.frontends import tflite_file, tflite_refused
from bmc.ir import ir_util

_OPS = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
_FUSED = schema.ActivationFunctionType
_SAME, _VALID = schema.Padding.SAME, schema.Padding.VALID


def _convert(function: Any, *inputs: tf.TensorSpec, io: tf.DType = tf.int16, **more: Any) -> bytes:
    return tflite_kit.convert(function, *inputs, io=io, ops=_OPS, **more)


def _weight(*shape: int) -> Any:
    rng = np.random.default_rng(2)
    return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


def _vision(x: tf.Tensor) -> Any:
    """Contains most ops of a small network."""
    x = tf.nn.relu6(tf.nn.conv2d(x, _weight(3, 3, 3, 8), 2, "SAME") + _weight(8))
    y = tf.nn.depthwise_conv2d(x, _weight(3, 3, 8, 1), [1, 1, 1, 1], "SAME") + _weight(8)
    z = tf.nn.depthwise_conv2d(x, _weight(3, 2, 8, 2), [1, 1, 1, 1], "SAME", dilations=[2, 1])
    x = tf.nn.relu(x + y) - tf.nn.leaky_relu(y, 0.3)
    # Two groups, and as many as channels.
    x = tf.nn.conv2d(x, _weight(3, 3, 4, 8), 1, "SAME") + _weight(8)
    x = tf.nn.relu(tf.nn.conv2d(x, _weight(3, 3, 1, 8), 1, "SAME"))
    x = tf.concat([tf.nn.max_pool2d(x, 2, 2, "VALID"), tf.nn.avg_pool2d(z, 3, 2, "SAME")], 3)
    large = tf.nn.conv2d_transpose(x, _weight(3, 4, 4, 24), (1, 8, 8, 4), 2, "SAME") + _weight(4)
    x = tf.reduce_mean(x, [1, 2])
    seen = tf.sigmoid(x @ _weight(24, 10) + _weight(10)) * tf.tanh(x @ _weight(24, 10))
    tall = tf.reshape(large, [1, 2, 8, 16])
    return tf.nn.softmax(seen), tf.matmul(tall, tall, transpose_b=True)


def _moves(x: tf.Tensor) -> Any:
    """Contains ops that move, choose and look up numbers."""
    first, second = tf.split(x, 2, 3)
    rows = tf.unstack(x, axis=1)
    tiles = tf.space_to_batch(x, [2, 2], [[0, 0], [0, 0]])
    return (
        *(first, second, *tf.split(x, [1, 3], 1), tf.stack(rows[:2])),
        *(tf.maximum(first, second), tf.minimum(first, second)),
        *(tf.reduce_max(x, 2), tf.reduce_min(x, 2)),
        *(tf.gather(x, [2, 0], axis=1), tf.gather_nd(x, [[0, 1, 2], [0, 3, 0]])),
        *(x[:, 1:3, ::2], tf.slice(x, [0, 1, 0, 0], [1, 2, 3, 4]), tf.squeeze(x, 0)),
        *(tf.reverse(x, [1]), tf.tile(x, [1, 2, 1, 1]), tf.transpose(x, [0, 3, 1, 2])),
        tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], "REFLECT"),
        tf.image.resize(x, [8, 8], method="nearest"),
        tf.batch_to_space(tiles, [2, 2], [[0, 0], [0, 1]]),
        tf.math.log(tf.nn.relu(x) + 1.5),
    )


class _Ops:
    """A file of ops on one input, each with an output of its own."""

    def __init__(self, shape: tuple[int, ...], scale: float, dtype: str = "int16") -> None:
        self.graph = Graph()
        self.outputs: list[int] = []
        self.x = self.graph.tensor("x", shape, dtype)
        if dtype != "float32":
            self.graph.quantize(self.x, scale)

    def add(
        self, kind: str, shape: tuple[int, ...], scale: float, *constants: int, **options: Any
    ) -> None:
        y = self.graph.tensor(f"y{len(self.outputs)}", shape, "int16")
        self.graph.quantize(y, scale)
        self.graph.op(kind, [self.x, *constants], [y], **options)
        self.outputs.append(y)

    def weight(self, values: NDArray[Any], scale: float) -> int:
        index = self.graph.constant(f"w{len(self.graph.graph.tensors)}", values)
        self.graph.quantize(index, scale)
        return index

    def file(self) -> bytes:
        return self.graph.file([self.x], self.outputs)


class TfliteInt16Test(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_a_network(self) -> None:
        model = self.load(_convert(_vision, tflite_kit.tensor(1, 16, 16, 3)))
        self.describes(model, "x: 1x16x16x3xi16", "Identity: 1x10xi16", "Identity_1: 1x2x8x8xi16")
        self.assertGreater(len(np.unique(np.stack([case[0] for case in model.golden.outputs]))), 9)
        self.agrees(model)

    def test_moves(self) -> None:
        data = _convert(_moves, tflite_kit.tensor(1, 4, 4, 4))
        model = schema.ModelT.InitFromPackedBuf(data, 0)
        (graph,) = model.subgraphs
        results = {graph.tensors[i].type for op in graph.operators for i in op.outputs}
        self.assertEqual(results, {schema.TensorType.INT16})
        self.assertEqual(len({op.opcodeIndex for op in graph.operators}), 24)
        self.agrees(self.load(data))

    def test_floats_at_the_border(self) -> None:
        data = _convert(lambda x: x @ _weight(8, 4), tflite_kit.tensor(64, 8), io=tf.float32)
        self.agrees(self.load(data))

        # The product with 1 / scale is next to the quotient.
        made = _Ops((4096,), 0, "float32")
        made.add("QUANTIZE", (4096,), 0.00012895)
        x = "np.random.default_rng(3).standard_normal(4096).astype(np.float32)"
        self.agrees(self.load(made.file(), f"return Cases((({x},), (9 * {x},)), Exact())"))

    def test_what_quantizes_an_image_is_as_small_for_a_large_one(self) -> None:
        """A constant as large as the image would be a weight of f32 in an int8 model."""
        data = _convert(lambda x: x @ _weight(8, 4), tflite_kit.tensor(64, 8), io=tf.float32)
        model = self.load(data)
        with ir.Context() as context:
            context.allow_unregistered_dialects = True
            module = ir.Module.parse(model.mlir.read_bytes())
            types = [
                op.results[0].type
                for op in ir_util.walk(module.operation)
                if op.name in ("arith.constant", "tosa.const")
            ]
        shaped = [kind for kind in types if isinstance(kind, ir.RankedTensorType)]
        sizes = [math.prod(kind.shape) for kind in shaped if str(kind.element_type) == "f32"]
        self.assertEqual(set(sizes), {1})

    def test_biases_of_32_bits(self) -> None:
        def network(x: tf.Tensor) -> tf.Tensor:
            x = tf.nn.conv2d(x, _weight(3, 3, 1, 4), 1, "VALID") + _weight(4)
            return tf.nn.relu(tf.reshape(x, [4, 4]) @ _weight(4, 8) + _weight(8))

        data = _convert(
            network,
            tflite_kit.tensor(1, 4, 4, 2),
            _experimental_full_integer_quantization_bias_type=tf.int32,
        )
        self.agrees(self.load(data))

        def undeclared(model: Any) -> None:
            for op in model.subgraphs[0].operators:
                if hasattr(op.builtinOptions, "quantizedBiasType"):
                    op.builtinOptions.quantizedBiasType = 0

        data = tflite_kit.edit(data, undeclared)
        self.rejects("unsupported-quantization", "a bias of another type", data=data)

    def test_sums_of_more_than_32_bits(self) -> None:
        made = _Ops((1, 1, 2, 1024), 2.0**-15)
        weights = np.full((2, 1, 1, 1024), 127, np.int8)
        bias = made.weight(np.array([2**33, -5], np.int64), 0.01 * 2.0**-15)
        options = {"options": "Conv2DOptions", "padding": _VALID, "strideW": 1, "strideH": 1}
        constants = (made.weight(weights, 0.01), bias)
        made.add("CONV_2D", (1, 1, 2, 2), 0.01, *constants, **options)
        constants = (made.weight(weights[:, 0, 0], 0.01), bias)
        options = {"options": "FullyConnectedOptions", "keepNumDims": True}
        made.add("FULLY_CONNECTED", (1, 1, 2, 2), 0.01, *constants, **options)
        x = "np.full((1, 1, 2, 1024), {}, np.int16)"
        cases = ", ".join(f"({x.format(value)},)" for value in (32767, -32768, -32700, 3))
        self.agrees(self.load(made.file(), f"return Cases(({cases}), Exact())"))

    def test_ties_of_fully_connected(self) -> None:
        # LiteRT multiplies these sums by a double, and rounds ties away from zero.
        made = _Ops((64, 1), 2.0**-15)
        weight = made.weight(np.array([[1], [3], [-5]], np.int8), 0.25)
        made.add("FULLY_CONNECTED", (64, 3), 2.0**-14, weight, -1, options="FullyConnectedOptions")
        x = "np.arange(-32, 32).astype(np.int16)[:, None]"
        self.agrees(self.load(made.file(), f"return Cases((({x},),), Exact())"))

    def test_every_value_of_a_function(self) -> None:
        made = _Ops((2**16,), 0.0003)
        for kind in ("LOGISTIC", "TANH"):
            made.add(kind, (2**16,), 2.0**-15)
        for kind, scale in (("EXP", 0.5), ("RELU", 0.00043), ("RELU6", 0.00032813)):
            made.add(kind, (2**16,), scale)
        made.add("LEAKY_RELU", (2**16,), 0.00021, options="LeakyReluOptions", alpha=0.37)
        made.add("QUANTIZE", (2**16,), 0.0007)
        cases = "return Cases(((np.arange(-2**15, 2**15).astype(np.int16),),), Exact())"
        self.agrees(self.load(made.file(), cases))

    def test_limits(self) -> None:
        # What a pool ends with; what SOFTMAX looks up far below the largest number.
        made = _Ops((1, 4, 4, 2), 0.0005)
        for kind, fused in (("AVERAGE_POOL_2D", _FUSED.RELU), ("MAX_POOL_2D", _FUSED.RELU6)):
            options = {"padding": _SAME, "strideW": 2, "strideH": 2, "filterWidth": 3}
            options |= {"filterHeight": 3, "fusedActivationFunction": fused}
            made.add(kind, (1, 2, 2, 2), 0.0005, options="Pool2DOptions", **options)
        made.add("SOFTMAX", (1, 4, 4, 2), 2.0**-15, options="SoftmaxOptions", beta=1.0)
        self.agrees(self.load(made.file()))

    def test_what_is_refused(self) -> None:
        image = tflite_kit.tensor(1, 4, 4, 4)
        kind = "unsupported-quantization"
        data = _convert(lambda x: tf.math.squared_difference(x, 2 * x), image)
        said = "'SQUARED_DIFFERENCE' on int16 is not computed"
        self.rejects(kind, said, "Identity in model.tflite", "INT8", data=data)

        def changed(data: bytes, **options: Any) -> bytes:
            def change(model: Any) -> None:
                for name, value in options.items():
                    setattr(model.subgraphs[0].operators[-1].builtinOptions, name, value)

            return tflite_kit.edit(data, change)

        data = changed(_convert(lambda x: x + x, image), potScaleInt16=True)
        self.rejects(kind, "'ADD' on int16 with potScaleInt16", data=data)

        def shifted(model: Any) -> None:
            model.subgraphs[0].tensors[0].quantization.zeroPoint = [3]

        data = tflite_kit.edit(_convert(lambda x: tf.reshape(x, [16, 4]), image), shifted)
        self.rejects(kind, "tensor 'x' in 'model.tflite'", "a zero point", data=data)

        made = _Ops((1, 2**15), 2.0**-15)
        weight = made.weight(np.full((1, 2**15), 127, np.int8), 0.01)
        made.add("FULLY_CONNECTED", (1, 1), 0.01, weight, -1, options="FullyConnectedOptions")
        self.rejects(kind, "adds up more than 36 bits", data=made.file())
        made = _Ops((1, 4, 4, 4), 1.0)
        weight = made.weight(np.ones((2, 4), np.int8), 1.0)
        options = {"options": "Conv2DOptions", "padding": _VALID, "strideW": 1, "strideH": 1}
        made.add("CONV_2D", (1, 4, 4, 2), 1.0, weight, **options)
        damaged = tflite_file.parse(made.file(), "model.tflite")
        call = lambda: tflite_refused.check(damaged)  # noqa: E731
        self.refuses(kind, "'CONV_2D' on int16 has weights of another rank", call=call)
        made = _Ops((1, 1), 1.0)
        weight = made.weight(np.ones((1, 1), np.int8), 1.0)
        made.add("FULLY_CONNECTED", (1, 1), 2.0**-14, weight, -1, options="FullyConnectedOptions")
        self.rejects(kind, "by more than 2^13", data=made.file())


if __name__ == "__main__":
    unittest.main()
