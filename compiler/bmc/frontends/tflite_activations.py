"""Functions of int16 as LiteRT's reference kernels compute them, where the converter to TOSA computes otherwise.

- LiteRT divides the scales of RELU and LEAKY_RELU in f32, and rounds what it scales twice.
- It rounds 6 to the nearest step for RELU6; the converter takes the next larger one. What a pool ends with, the
  converter loses.
- It limits what SOFTMAX looks up. The converter keeps the lowest bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bmc.frontends import tflite_schema, tflite_text
from bmc.frontends.tflite_file import TfliteFile
from bmc.frontends.tflite_text import DOUBLE_ROUND, SINGLE_ROUND, tensor

# Ops -> the largest value that they leave.
_RELUS = {"RELU": np.inf, "RELU6": 6.0, "RELU_0_TO_1": 1.0}
_POOLS = ("tosa.avg_pool2d", "tosa.max_pool2d")


@dataclass(frozen=True)
class Activation:
    """An op of the file with a result of int16.

    Attributes:
      kind: TFLite's name.
      given, made: scales of the first operand and the result, as f32.
      alpha: the slope of LEAKY_RELU below zero.
      low, high: the limits of the result.
    """

    kind: str
    given: np.float32
    made: np.float32
    alpha: np.float32
    low: int
    high: int


def activations(file: TfliteFile) -> dict[str, Activation]:
    """Returns the ops with a result of int16 by the names of their outputs."""
    from ai_edge_litert.schema_py_generated import TensorType

    found: dict[str, Activation] = {}
    for graph in file.model.subgraphs:
        for op in graph.operators:
            tensors = [graph.tensors[i] for i in (*op.inputs[:1], *op.outputs[:1]) if i >= 0]
            scales = [
                np.float32(each.quantization.scale[0] if tflite_schema.is_quantized(each) else 0)
                for each in tensors
            ]
            if len(tensors) == 2 and tensors[1].type == TensorType.INT16 and scales[1]:
                kind = tflite_schema.op_kind(file.model, op)
                alpha = np.float32(getattr(op.builtinOptions, "alpha", 0))
                limits = _limits(kind, op.builtinOptions, scales[1])
                name = tflite_schema.text(tensors[1].name)
                found[name] = Activation(kind, scales[0], scales[1], alpha, *limits)
    return found


def _limits(kind: str, options: Any, scale: np.float32) -> tuple[int, int]:
    from ai_edge_litert.schema_py_generated import ActivationFunctionType

    low, high = -np.inf, np.inf
    fused = getattr(options, "fusedActivationFunction", ActivationFunctionType.NONE)
    if kind in _RELUS:
        low, high = 0.0, _RELUS[kind]
    elif fused == ActivationFunctionType.RELU:
        low = 0.0
    elif fused == ActivationFunctionType.RELU6:
        low, high = 0.0, 6.0
    elif fused == ActivationFunctionType.RELU_N1_TO_1:
        low, high = -1.0, 1.0
    least, most = (_away(np.float32(value) / scale) for value in (low, high))
    return max(-(2**15), least), min(2**15 - 1, most)


def _away(value: np.float32) -> int:
    """Returns the nearest integer, the one away from zero of two, and no more than 17 bits of it."""
    return int(np.clip(np.trunc(value + np.copysign(np.float32(0.5), value)), -(2**16), 2**16))


def corrections(op: Any, name: str, found: dict[str, Activation]) -> Iterator[Callable[[], None]]:
    """Yields the changes of an operation of the converter's that computes tensor `name`."""
    if name not in found:
        return
    activation = found[name]
    if op.name == "tosa.clamp":
        yield partial(_limit, op, activation)
    elif op.name in _POOLS:
        yield partial(_limit_pool, op, activation)
    elif op.name == "tosa.rescale" and activation.kind in _RELUS:
        yield partial(_scale_relu, op, activation)
    elif op.name == "tosa.rescale" and activation.kind == "LEAKY_RELU":
        if _is_narrow(op):
            yield partial(_scale_by_sign, op, activation)
    elif op.name == "tosa.cast" and activation.kind == "SOFTMAX" and _is_narrow(op):
        yield partial(_saturate, op)


def _is_narrow(op: Any) -> bool:
    return str(op.results[0].type.element_type) == "i16"


def _limit(clamp: Any, activation: Activation) -> None:
    from iree.compiler import ir

    i16 = clamp.results[0].type.element_type
    clamp.attributes["min_val"] = ir.IntegerAttr.get(i16, activation.low)
    clamp.attributes["max_val"] = ir.IntegerAttr.get(i16, activation.high)


def _limit_pool(pool: Any, activation: Activation) -> None:
    """Limits the result of a pool."""
    from iree.compiler import ir

    (result,) = pool.results
    with ir.InsertionPoint.after(pool), pool.location:
        clamp = ir.Operation.create("tosa.clamp", [result.type], [result])
    _limit(clamp, activation)
    result.replace_all_uses_except(clamp.result, clamp)


def _scale_relu(rescale: Any, activation: Activation) -> None:
    kind = rescale.results[0].type
    text = f"""
func.func @scaled(%x: {kind}) -> {kind} {{
{_scaled("y", list(kind.shape), "i16", activation.given / activation.made)}
  return %y : {kind}
}}"""
    tflite_text.replace(rescale, text, [rescale.operands[0]])


def _scale_by_sign(last: Any, activation: Activation) -> None:
    """Replaces the result of LEAKY_RELU."""
    kind = last.results[0].type
    shape = list(kind.shape)
    wide, flags = tensor(shape, "i32"), tensor(shape, "i1")
    slope = activation.given * activation.alpha / activation.made
    text = f"""
func.func @scaled(%x: {kind}) -> {kind} {{
  %zero = arith.constant dense<0> : {kind}
{_scaled("above", shape, "i32", activation.given / activation.made)}
{_scaled("below", shape, "i32", slope)}
  %is_above = arith.cmpi sge, %x, %zero : {kind}
  %both = arith.select %is_above, %above, %below : {flags}, {wide}
{_same("y", "both", shape, 30)}
  return %y : {kind}
}}"""
    (maximum,) = last.operands[:1]
    tflite_text.replace(last, text, [maximum.owner.operands[0].owner.operands[0]])


def _scaled(name: str, shape: list[int], element: str, scale: np.float32) -> str:
    """Returns what makes a tensor of %x, scaled."""
    numbers = tflite_text.multipliers(np.array([scale]), 31)
    return tflite_text.rescale(name, "x", shape, ("i16", element), *numbers, DOUBLE_ROUND)


def _saturate(cast: Any) -> None:
    """Makes a cast from i32 saturate."""
    given, made = (value.type for value in (cast.operands[0], cast.results[0]))
    text = f"""
func.func @cast(%x: {given}) -> {made} {{
{_same("y", "x", list(made.shape), 30)}
  return %y : {made}
}}"""
    tflite_text.replace(cast, text, [cast.operands[0]])


def _same(name: str, of: str, shape: list[int], shift: int) -> str:
    """Returns what makes an i16 of 2^30 times an i32, shifted to the right."""
    numbers = np.array([2**30]), np.array([shift])
    return tflite_text.rescale(name, of, shape, ("i32", "i16"), *numbers, SINGLE_ROUND)
