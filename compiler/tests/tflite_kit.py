"""What tests of TFLite files share: conversion by TensorFlow, and edits of what it made."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import flatbuffers
import numpy as np
import tensorflow as tf
from ai_edge_litert.schema_py_generated import ModelT


def convert(
    function: Callable[..., Any], *inputs: tf.TensorSpec, io: tf.DType | None = None, **options: Any
) -> bytes:
    """Returns the .tflite file of a function; `io` is the type at the border of a quantised one."""
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
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = io
    return bytes(converter.convert())


def tensor(*shape: int | None, dtype: tf.DType = tf.float32, name: str = "x") -> tf.TensorSpec:
    return tf.TensorSpec(shape, dtype, name)


def edit(data: bytes, change: Callable[[Any], None]) -> bytes:
    """Returns the file after `change` has been at its ModelT."""
    model = ModelT.InitFromPackedBuf(data, 0)
    change(model)
    builder = flatbuffers.Builder(len(data))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def as_before_2_4(model: Any) -> None:
    """Operators in the field that converters had before TensorFlow 2.4, and nothing newer."""
    for code in model.operatorCodes:
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.builtinCode = 0
    model.signatureDefs = model.metadata = None
    for graph in model.subgraphs:
        for item in graph.tensors:
            item.shapeSignature = None
            item.hasRank = False
