"""Branches of .tflite files, of which LiteRT computes one."""

from __future__ import annotations

import os
import unittest
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import support
import tensorflow as tf
import tflite_kit
from ai_edge_litert import schema_py_generated as schema
from tflite_graph import Graph

from bmc.frontends import tflite_branches, tflite_schema


def _nested(x: tf.Tensor) -> Any:
    def inner() -> Any:
        return tf.cond(x[0] > 1.0, lambda: (x * 2.0, x), lambda: (tf.exp(x), x - 1.0))

    a, b = tf.cond(tf.reduce_sum(x) > 0, inner, lambda: (x, tf.nn.relu(x) + 3.0))
    return a + 1.0, b


def _branches(condition: Any, scales: tuple[float, float]) -> bytes:
    """Returns a file with an IF of a tensor or a constant, whose graphs give int8 of these scales."""
    made = Graph()
    x, y = made.tensor("x", (4,), "int8"), made.tensor("y", (4,), "int8")
    inputs = [made.tensor("c", (1,), "bool"), x]
    if condition is not None:
        inputs[0] = made.constant("c", np.array([condition]))
    for tensor in (x, y):
        made.quantize(tensor, 0.5)
    made.op("IF", inputs, [y], options="IfOptions", thenSubgraphIndex=1, elseSubgraphIndex=2)
    for scale, kind in zip(scales, ("RELU", "RELU6"), strict=True):
        graph = Graph()
        a, b = graph.tensor(f"a_{kind}", (4,), "int8"), graph.tensor(f"b_{kind}", (4,), "int8")
        graph.quantize(a, 0.5)
        graph.quantize(b, scale)
        graph.op(kind, [a], [b], 2)
        graph.graph.inputs, graph.graph.outputs = [a], [b]
        graph.graph.operators[0].opcodeIndex = len(made.model.operatorCodes)
        made.model.operatorCodes += graph.model.operatorCodes
        made.model.subgraphs.append(graph.graph)
    return made.file([x] if condition is not None else [*inputs], [y])


class TfliteBranchesTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_branches_within_branches(self) -> None:
        data = tflite_kit.convert(_nested, tflite_kit.tensor(4))
        rows = ([2, 1, 0, 0], [0.5, 1, 0, 0], [-1, -2, 0.5, 0], [3, -9, 0, 0])
        cases = ", ".join(f"(np.array({row}, np.float32),)" for row in rows)
        model = self.load(data, f"return Cases(({cases},), Tolerance(1e-6, 1e-6))")
        for (x,), (a, b) in zip(model.golden.inputs, model.golden.outputs, strict=True):
            inner = (x * 2, x) if x[0] > 1 else (np.exp(x), x - 1)
            want = inner if x.sum() > 0 else (x, np.maximum(x, 0) + 3)
            np.testing.assert_allclose(a, want[0] + 1, rtol=1e-6)
            np.testing.assert_allclose(b, want[1], rtol=1e-6)
        self.agrees(model)

    def test_integers_and_conditions_that_are_known(self) -> None:
        self.agrees(self.load(_branches(None, (0.5, 0.5))))
        for condition in (True, False):
            data = _branches(condition, (0.5, 0.5))
            self.agrees(self.load(data))
            flat = schema.ModelT.InitFromPackedBuf(tflite_branches.flat(data, "m"), 0)
            self.assertEqual(len(flat.subgraphs[0].operators), 1)

    def test_loops_are_written_out(self) -> None:
        """As Keras converts recurrent layers: each turn puts its result into a list, as a tensor of another shape."""

        def recurrent(x: tf.Tensor) -> Any:
            states = tf.TensorArray(tf.float32, 4, element_shape=(1, 3))
            state = tf.zeros((1, 3))
            for turn in tf.range(4):
                state = tf.tanh(state + x[:, turn])
                states = states.write(turn, state)
            return states.stack()

        def last(x: tf.Tensor) -> Any:
            state = tf.zeros((tf.shape(x)[0], 3))
            for turn in tf.range(4):
                state = tf.tanh(state + x[:, turn])
            return state

        for function, batch in ((recurrent, 1), (last, None)):
            data = tflite_kit.convert(function, tf.TensorSpec((batch, 4, 3), tf.float32))
            self.assertIn("WHILE", self._kinds(data))
            self.agrees(self.load(data))

    def test_loops_that_depend_on_data_stay(self) -> None:
        def halved(x: tf.Tensor) -> Any:
            while tf.reduce_sum(x) > 1.0:
                x = x / 2.0
            return x

        data = tflite_kit.convert(halved, tflite_kit.tensor(4))
        self.assertIn("WHILE", self._kinds(data))
        self.assertIn("WHILE", self._kinds(tflite_branches.flat(data, "m")))

    def test_loops_of_open_shapes(self) -> None:
        """As TensorFlow suppresses boxes: a loop within one that has a single turn, whatever the data is."""
        scalar, row = tf.TensorShape([]), tf.TensorShape([None])

        def halved(x: tf.Tensor) -> tuple[tf.Tensor]:
            return (tf.reshape(x * 0.5, tf.stack([tf.shape(x)[0]])),)

        def inner(x: tf.Tensor) -> tf.Tensor:
            return tf.while_loop(lambda x: tf.reduce_sum(x) > 1.0, halved, (x,), (row,))[0]

        def goes_on(i: tf.Tensor, count: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
            return tf.logical_and(count < 4, i < 1)

        def turn(i: tf.Tensor, count: tf.Tensor, x: tf.Tensor) -> Any:
            x = inner(x)
            return i + 1, count + tf.cast(x[0] > 0.25, tf.int32), x

        def outer(x: tf.Tensor) -> Any:
            return tf.while_loop(goes_on, turn, (0, 0, x[:3]), (scalar, scalar, row))[2]

        rows = ([1, 2, 3, 0], [0.75, 0.1, 0, 0], [-1, 2, 0, 0])
        cases = ", ".join(f"(np.array({row}, np.float32),)" for row in rows)
        for function in (lambda x: inner(x[:3]), outer):
            data = tflite_kit.convert(function, tflite_kit.tensor(4))
            self.agrees(self.load(data, f"return Cases(({cases},), Tolerance(1e-6, 1e-6))"))
            graphs = schema.ModelT.InitFromPackedBuf(tflite_branches.flat(data, "m"), 0).subgraphs
            self.assertEqual(len(graphs), 3)

    def test_sizes_are_constants(self) -> None:
        def halves(x: tf.Tensor) -> Any:
            rows = tf.shape(x)[1] // 2
            return tf.reshape(x[:, : 2 * rows], tf.stack([rows, 2]))

        data = tflite_kit.convert(halves, tf.TensorSpec((None, 7), tf.float32))
        model = self.load(data)
        self.agrees(model)

    def _kinds(self, data: bytes) -> set[str]:
        model = schema.ModelT.InitFromPackedBuf(data, 0)
        return {tflite_schema.op_kind(model, op) for op in model.subgraphs[0].operators}

    def test_other_numbers_from_each_branch(self) -> None:
        data = _branches(None, (0.5, 0.25))
        self.rejects("op-rejected", "different shapes, types or quantizations", "'IF'", data=data)


if __name__ == "__main__":
    unittest.main()
