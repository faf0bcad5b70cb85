"""Variables of .tflite files become states; LiteRT keeps them in its own way."""

from __future__ import annotations

import os
import unittest
from collections.abc import Callable
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import support
import tensorflow as tf
import tflite_kit

from bmc import spec
from bmc.artifacts import GoldenCall
from bmc.frontends import tflite
from bmc.frontends.options import ImportOptions


class _Module(tf.Module):  # type: ignore[misc]
    """Calls `body(x, variables)`."""

    def __init__(self, body: Callable[..., Any], *initial: Any) -> None:
        self.variables_in_order = [
            tf.Variable(tf.constant(value), name=f"v{i}") for i, value in enumerate(initial)
        ]
        self.call = tf.function(
            lambda x: body(x, *self.variables_in_order),
            input_signature=[tflite_kit.tensor(4)],
        )


def _file(body: Callable[..., Any], *initial: Any) -> bytes:
    module = _Module(body, *initial)
    return tflite_kit.convert_module(module, module.call)


def _sums(x: Any, v: tf.Variable) -> Any:
    return v.assign_add(x) * 2.0


_UP = np.arange(4, dtype=np.float32)


class TfliteVariablesTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_a_sum_goes_on(self) -> None:
        model = self.load(_file(_sums, _UP))
        self.describes(model, "x: 4xf32", "output_0: 4xf32")
        calls = model.golden.calls
        self.assertEqual([call.reset for call in calls[:3]], [True, False, False])
        total = _UP
        for (x,), (y,) in zip(model.golden.inputs, model.golden.outputs, strict=True):
            total = total + x
            np.testing.assert_allclose(y, total * 2, rtol=1e-5, atol=1e-5)
        self.agrees(model)

    def test_orders_of_reads_and_assignments(self) -> None:
        def swapped(x: Any, v: tf.Variable, w: tf.Variable) -> Any:
            a, b = v.read_value(), w.read_value()
            v.assign(b)
            w.assign(a + x)
            return a - b

        def often(x: Any, v: tf.Variable, w: tf.Variable) -> Any:
            v.assign(v + x)
            first = v.read_value()
            v.assign(v * 0.5 + w)
            return first, v.read_value()

        def given(x: Any, v: tf.Variable, w: tf.Variable) -> Any:
            before = v.read_value()
            v.assign(x)
            w.assign(before)
            return before, w.read_value() + 1.0

        for body in (swapped, often, given):
            with self.subTest(body.__name__):
                self.agrees(self.load(_file(body, _UP, _UP[::-1].copy())))

    def test_what_is_no_state(self) -> None:
        def body(x: Any, constant: tf.Variable, scratch: tf.Variable) -> Any:
            scratch.assign(x * constant)
            return scratch + 1.0

        model = self.load(_file(body, _UP, _UP))
        self.assertEqual(model.golden.calls, ())
        np.testing.assert_array_equal(
            model.golden.outputs[0][0], model.golden.inputs[0][0] * _UP + 1
        )
        self.agrees(model)

    def test_int8(self) -> None:
        data = tflite_kit.streaming()
        model = self.load(data)
        self.describes(model, "x: 1x1x8xi8", "output_0: 1x4xi8")
        self.assertGreater(len(model.golden.calls), 8)
        self.assertGreater(len({y.tobytes() for (y,) in model.golden.outputs}), 8)
        self.agrees(model)
        self.assertEqual(self.load(data).mlir.read_bytes(), model.mlir.read_bytes())

    def test_calls_of_the_user(self) -> None:
        data = _file(_sums, _UP)
        one = np.ones(4, np.float32)
        model = self.load(data, "x = np.ones(4, np.float32); return Cases(((x,), (x,)), Exact())")
        self.assertEqual(model.golden.calls, (GoldenCall(0, True), GoldenCall(0, False)))
        np.testing.assert_array_equal(model.golden.outputs[1][0], (_UP + 2) * 2)
        calls = (
            spec.Call("main", (one,), reset=True),
            spec.Call("main", (spec.Previous(0),)),
            spec.Call("main", (one,), reset=True),
        )
        made = spec.ModelSpec(spec.ModelFile(".tflite", data), (), spec.Exact(), calls=calls)
        imported = tflite.import_spec(made, "m.py:f", ImportOptions(), self.folder / "out")
        for (got,), want in zip(
            imported.golden.outputs, ((_UP + 1) * 2, (_UP * 3 + 3) * 2, (_UP + 1) * 2), strict=True
        ):
            np.testing.assert_array_equal(got, want)
        arrays = {"0.main.0": np.ones((2, 3, 4), np.float32)}
        np.savez(self.folder / "calls.npz", **arrays)  # type: ignore[arg-type]
        model = self.load(data, inputs=self.folder / "calls.npz")
        self.assertEqual([call.reset for call in model.golden.calls], [True, False, False] * 2)
        np.testing.assert_array_equal(model.golden.outputs[2], model.golden.outputs[5])
        stateless = tflite_kit.convert(lambda x: x + 1.0, tflite_kit.tensor(4))
        made = spec.ModelSpec(spec.ModelFile(".tflite", stateless), (), spec.Exact(), calls=calls)
        self.refuses(
            "bad-spec",
            "keeps no state",
            call=lambda: tflite.import_spec(made, "m.py:f", ImportOptions(), self.folder / "out"),
        )

    def test_what_is_refused(self) -> None:
        def branch(x: Any, v: tf.Variable) -> Any:
            return tf.cond(tf.reduce_sum(x) > 0, lambda: v.assign_add(x), lambda: x)

        def reshaped(model: Any) -> None:
            for tensor in model.subgraphs[0].tensors:
                if tensor.name.endswith(b"ReadVariableOp"):
                    tensor.shape = [2, 2]

        self.rejects("variable", "branches and loops", data=_file(branch, _UP))
        data = tflite_kit.edit(_file(_sums, _UP), reshaped)
        self.rejects("variable", "another type or quantization", "'v0'", data=data)


if __name__ == "__main__":
    unittest.main()
