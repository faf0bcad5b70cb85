"""Makes f32 of floats of 4 to 8 bits, which are bytes with their codes (onnx_codes.py), and the other way round."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from bmc.dtype import Array
from bmc.frontends import onnx_codes
from bmc.frontends.onnx_graph import Graph, attributes

# Bits of the significand of f32, those of its exponent, and the exponent of 1.
_SIGNIFICAND = 23
_EXPONENTS = 0xFF << _SIGNIFICAND
_BIAS = 127


def decoded(graph: Graph, node: Any, value: str, dtype: np.dtype[Any]) -> str:
    """Returns the f32 that bytes of floats stand for."""
    from onnx import TensorProto

    place = graph.add("Cast", [value], node, to=TensorProto.INT32)
    return graph.add("Gather", [onnx_codes.all_of(dtype), place], node)


def encoded(graph: Graph, node: Any, value: str, dtype: np.dtype[Any]) -> str:
    """Returns the bytes of floats nearest to f32, halves to even ones."""
    from onnx import TensorProto

    if dtype.name == "float8_e8m0fnu":
        return _exponents(graph, node, value)
    info = ml_dtypes.finfo(dtype)
    most, nan = onnx_codes.bounds(dtype)[1], onnx_codes.nan(dtype)
    least = int(np.array(info.smallest_normal, np.float32).view(np.int32))
    # What is too large gets the next code, infinity or NaN. There is none after that of NaN without a sign.
    saturates = attributes(node).get("saturate", 1) or len(onnx_codes.all_of(dtype)) < 256
    shape = graph.shape(node.input[0])
    add, whole = graph.add, TensorProto.INT32

    is_nan = add("IsNaN", [value], node)
    clean = add("Where", [is_nan, np.array(0, np.float32), value], node)
    limit = np.array(2 * float(info.max), np.float32)
    size = add("Min", [add("Abs", [clean], node), limit], node)
    # The power of two below a number tells what a step of its significand is.
    power = add("BitwiseAnd", [graph.bits(size, whole, node, shape), number(_EXPONENTS)], node)
    above = add("Sub", [add("Max", [power, number(least)], node), number(least)], node)
    factors = number(((2 * _BIAS + info.nmant) << _SIGNIFICAND) - least)
    factor = graph.bits(add("Sub", [factors, above], node), TensorProto.FLOAT, node, shape)
    rounded = add("Round", [add("Mul", [size, factor], node)], node)
    before = add("Div", [above, number(1 << (_SIGNIFICAND - info.nmant))], node)
    code = add("Add", [before, add("Cast", [rounded], node, to=whole)], node)
    code = add("Min", [code, number(most if saturates else most + 1)], node)

    is_negative = add("Less", [graph.bits(clean, whole, node, shape), number(0)], node)
    if "fnuz" in dtype.name:
        is_negative = add("And", [is_negative, add("Greater", [code, number(0)], node)], node)
    sign = number(len(onnx_codes.all_of(dtype)) // 2)
    signed = add("Add", [code, add("Where", [is_negative, sign, number(0)], node)], node)
    if not saturates and most + 1 == nan:
        is_nan = add("Or", [is_nan, add("Equal", [code, number(nan)], node)], node)
    made = add("Where", [is_nan, number(nan), signed], node)
    return add("Cast", [made], node, to=TensorProto.UINT8)


def _exponents(graph: Graph, node: Any, value: str) -> str:
    """Returns the exponents of f32, from 0 for 2^-127; of a negative number, for which there is none, 0."""
    from onnx import TensorProto

    given = attributes(node)
    one = 1 << _SIGNIFICAND
    # What is added before the significand is cut off, and the least bits that become 2^-126.
    mode = given.get("round_mode", b"up")
    if mode == b"down":
        added, second = 0, one
    elif mode == b"nearest":
        added, second = one // 2, one // 4 * 3
    else:
        added, second = one - 1, one // 2 + 1
    add = graph.add

    bits = graph.bits(value, TensorProto.INT32, node, graph.shape(node.input[0]))
    code = add("Div", [add("Add", [bits, number(added)], node), number(one)], node)
    code = add("Where", [add("Less", [bits, number(second)], node), number(0), code], node)
    code = add("Min", [code, number(2 * _BIAS)], node)
    is_nan = add("IsNaN", [value], node)
    if not given.get("saturate", 1):
        for kind, bound in (("Less", one // 2), ("Greater", 2 * _BIAS * one)):
            is_outside = add(kind, [bits, number(bound)], node)
            is_nan = add("Or", [is_nan, is_outside], node)
    made = add("Where", [is_nan, number(0xFF), code], node)
    return add("Cast", [made], node, to=TensorProto.UINT8)


def number(value: int) -> Array:
    """Returns an int32 for a node to read."""
    return np.array(value, np.int32)
