"""Helpers for tests of TFLite files: conversion by TensorFlow, and edits of the result."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import flatbuffers
import numpy as np
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema


def convert(
    function: Callable[..., Any],
    *inputs: tf.TensorSpec,
    io: tf.DType | None = None,
    ops: tf.lite.OpsSet = tf.lite.OpsSet.TFLITE_BUILTINS_INT8,
    **options: Any,
) -> bytes:
    """Returns a function's .tflite file. With `io`, its inputs and outputs have that type and its ops are `ops`."""
    traced = tf.function(function, input_signature=inputs).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced])
    for name, value in options.items():
        setattr(converter, name, value)
    if io:
        rng = np.random.default_rng(1)
        shapes = [[dim or 1 for dim in spec.shape] for spec in inputs]
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: (
            [rng.standard_normal(shape).astype(np.float32) for shape in shapes] for _ in range(20)
        )
        converter.target_spec.supported_ops = [ops]
        converter.inference_input_type = converter.inference_output_type = io
    return bytes(converter.convert())


def tensor(*shape: int | None, dtype: tf.DType = tf.float32, name: str = "x") -> tf.TensorSpec:
    return tf.TensorSpec(shape, dtype, name)


def edit(data: bytes, change: Callable[[Any], None]) -> bytes:
    """Returns the file after `change` has edited its ModelT."""
    model = schema.ModelT.InitFromPackedBuf(data, 0)
    change(model)
    builder = flatbuffers.Builder(len(data))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def as_before_2_4(model: Any) -> None:
    """Rewrites operators as converters before TensorFlow 2.4 did, and removes everything newer."""
    for code in model.operatorCodes:
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.builtinCode = 0
    model.signatureDefs = model.metadata = None
    for graph in model.subgraphs:
        for item in graph.tensors:
            item.shapeSignature = None
            item.hasRank = False


def convert_module(module: tf.Module, function: Any, **options: Any) -> bytes:
    """Returns the .tflite file of a function of a module, whose variables stay variables."""
    functions = [function.get_concrete_function()]
    converter = tf.lite.TFLiteConverter.from_concrete_functions(functions, module)
    converter.experimental_enable_resource_variables = True
    for name, value in options.items():
        setattr(converter, name, value)
    return bytes(converter.convert())


class _Streaming(tf.Module):  # type: ignore[misc]
    """Convolves its last inputs, of which it keeps three."""

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        self.last = tf.Variable(tf.zeros((1, 3, 8)), name="last")
        self._weight = (rng.standard_normal((4, 8, 4)) / 4).astype(np.float32)

    @tf.function(input_signature=[tensor(1, 1, 8)])  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        window = tf.concat([self.last, x], 1)
        self.last.assign(window[:, 1:])
        return tf.nn.relu(tf.nn.conv1d(window, self._weight, 1, "VALID"))[:, 0]


def streaming() -> bytes:
    """Returns an int8 network with a state, as microcontrollers run them for wake words."""
    rng = np.random.default_rng(8)
    module = _Streaming()
    return convert_module(
        module,
        module.__call__,
        optimizations=[tf.lite.Optimize.DEFAULT],
        representative_dataset=lambda: (
            [rng.standard_normal((1, 1, 8)).astype(np.float32)] for _ in range(20)
        ),
        _experimental_variable_quantization=True,
        inference_input_type=tf.int8,
        inference_output_type=tf.int8,
    )
