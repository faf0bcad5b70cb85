"""Ops on each number by itself, which the converter to TOSA lacks or gets wrong, as MLIR."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text, compare


def _angle(op: Operation) -> str:
    """ATAN2; the converter has no angle of zeros, infinities and NaN, and the others to 1.5e-5."""
    if not op.outputs[0].is_float:
        return ""
    return Text(op).broadcast(lambda b, y, x, _: b.line(f"math.atan2 {y}, {x} : f32"))


def _remainder(op: Operation) -> str:
    """FLOOR_MOD; of floats, the converter returns the remainder in units of the divisor."""
    element = op.outputs[0].element
    if element not in ("f32", "i32", "i64"):
        return ""
    letter, zero = ("f", "0.0") if element == "f32" else ("si", "0")

    def body(b: Body, x: str, y: str, _: str) -> str:
        rest = b.op("rem" + letter, x, y, kind=element)
        none = b.line(f"arith.constant {zero} : {element}")
        is_below, is_negative = (compare(b, "lt", each, none, element) for each in (rest, y))
        differ = b.op("xori", is_below, is_negative, kind="i1")
        is_some = compare(b, "ne", rest, none, element)
        moves = b.op("andi", differ, is_some, kind="i1")
        moved = b.op("addf" if letter == "f" else "addi", rest, y, kind=element)
        return b.line(f"arith.select {moves}, {moved}, {rest} : {element}")

    return Text(op).broadcast(body)


def _quotient(op: Operation) -> str:
    """FLOOR_DIV of floats; the converter multiplies by a reciprocal, and a product may round up to a whole number."""
    if not op.outputs[0].is_float:
        return ""

    def body(b: Body, x: str, y: str, _: str) -> str:
        return b.line(f"math.floor {b.op('divf', x, y, kind='f32')} : f32")

    return Text(op).broadcast(body)


def _shifted(op: Operation) -> str:
    """RIGHT_SHIFT by no less than 0 and no more than all bits but one."""
    element = op.outputs[0].element
    if element not in ("i8", "i16", "i32"):
        return ""

    def body(b: Body, x: str, bits: str, _: str) -> str:
        least, most = b.number(0, element), b.number(int(element[1:]) - 1, element)
        bits = b.op("minsi", b.op("maxsi", bits, least, kind=element), most, kind=element)
        return b.op("shrsi", x, bits, kind=element)

    return Text(op).broadcast(body)


def _gelu(op: Operation) -> str:
    """GELU of floats by the error function; the converter's has fewer digits."""
    if not op.outputs[0].is_float or op.options.approximate:
        return ""

    def body(b: Body, x: str, _: str) -> str:
        erf = b.line(f"math.erf {b.op('mulf', x, b.real(np.sqrt(0.5)), kind='f32')} : f32")
        half = b.op("mulf", x, b.real(0.5), kind="f32")
        return b.op("mulf", half, b.op("addf", erf, b.real(1), kind="f32"), kind="f32")

    return Text(op).broadcast(body)


KINDS: dict[str, Callable[[Operation], str]] = {
    "ATAN2": _angle,
    "FLOOR_DIV": _quotient,
    "FLOOR_MOD": _remainder,
    "GELU": _gelu,
    "RIGHT_SHIFT": _shifted,
}
