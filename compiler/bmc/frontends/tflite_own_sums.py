"""Ops that add up or multiply parts of a tensor, which the converter to TOSA lacks or rounds otherwise, as MLIR."""

from __future__ import annotations

from collections.abc import Callable

from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text, compare, index

# Ops -> what they begin with, as MLIR has it, for floats and for integers of 32 and 64 bits.
_STARTS = {
    "SEGMENT_SUM": ("0.0", "0", "0"),
    "UNSORTED_SEGMENT_SUM": ("0.0", "0", "0"),
    "UNSORTED_SEGMENT_PROD": ("1.0", "1", "1"),
    "UNSORTED_SEGMENT_MAX": ("-3.40282347e+38", str(-(2**31)), str(-(2**63))),
    "UNSORTED_SEGMENT_MIN": ("3.40282347e+38", str(2**31 - 1), str(2**63 - 1)),
}


def _running(op: Operation) -> str:
    """CUMSUM: each result adds up the elements before it."""
    text, made = Text(op), op.outputs[0]
    x, rank = text.inputs[0], len(made.shape)
    axis = op.inputs[1].value
    if axis is None or made.element not in ("f32", "i32", "i64"):
        return ""
    along = int(axis.reshape(())) % rank
    how = {(False, False): "le", (True, False): "lt", (False, True): "ge", (True, True): "gt"}

    def body(b: Body, value: str, old: str) -> str:
        relation = how[op.options.exclusive, op.options.reverse]
        counts = compare(b, relation, index(b, rank), index(b, along), "i32")
        total = b.op("addf" if made.is_float else "addi", old, value, kind=made.element)
        return b.line(f"arith.select {counts}, {total}, {old} : {made.element}")

    read = [rank if dim == along else dim for dim in range(rank)]
    zero = "0.0" if made.is_float else "0"
    dims = range(rank)
    return text.function(
        text.loop([(x, read)], made.shape, made.element, body, dims=dims, start=zero)
    )


def _segments(op: Operation) -> str:
    """SEGMENT_SUM and UNSORTED_SEGMENT_...: what parts of a tensor with the same number make."""
    text, made = Text(op), op.outputs[0]
    x, numbers = text.inputs[:2]
    if made.element not in ("f32", "i32", "i64"):
        return ""
    rank, summed = len(made.shape), len(numbers.shape)
    start = _STARTS[op.kind][("f32", "i32", "i64").index(made.element)]
    letter = made.element[0]

    def joined(b: Body, old: str, value: str) -> str:
        how = op.kind.rpartition("_")[2]
        if how in ("SUM", "PROD"):
            name = "add" if how == "SUM" else "mul"
            return b.op(name + letter, old, value, kind=made.element)
        is_new = compare(b, "gt" if how == "MAX" else "lt", value, old, made.element)
        return b.line(f"arith.select {is_new}, {value}, {old} : {made.element}")

    def body(b: Body, value: str, number: str, old: str) -> str:
        is_here = compare(b, "eq", number, index(b, 0, numbers.element), numbers.element)
        new = joined(b, old, value)
        return b.line(f"arith.select {is_here}, {new}, {old} : {made.element}")

    behind = [*range(rank, rank + summed)]
    operands = [(x, [*behind, *range(1, rank)]), (numbers, behind)]
    return text.function(
        text.loop(operands, made.shape, made.element, body, dims=range(rank), start=start)
    )


def _normalized(op: Operation) -> str:
    """LOCAL_RESPONSE_NORMALIZATION: channels are divided by a power of the sum of their neighbors' squares."""
    text, made = Text(op), op.outputs[0]
    (x,), rank = text.inputs, len(made.shape)
    options = op.options

    def squares(b: Body, value: str, old: str) -> str:
        distance = b.op("subi", index(b, rank), index(b, rank - 1))
        first = compare(b, "ge", distance, b.number(-options.radius), "i32")
        # LiteRT leaves out the last of the neighbors.
        last = compare(b, "lt", distance, b.number(options.radius), "i32")
        counts = b.op("andi", first, last, kind="i1")
        square = b.op("mulf", value, value, kind="f32")
        total = b.op("addf", old, square, kind="f32")
        return b.line(f"arith.select {counts}, {total}, {old} : f32")

    def scaled(b: Body, value: str, total: str, _: str) -> str:
        more = b.op("mulf", total, b.real(options.alpha), kind="f32")
        base = b.op("addf", more, b.real(options.bias), kind="f32")
        power = b.line(f"math.powf {base}, {b.real(-options.beta)} : f32")
        return b.op("mulf", value, power, kind="f32")

    own = [*range(rank)]
    read = [*own[:-1], rank]
    sums = text.loop([(x, read)], made.shape, "f32", squares, dims=own, start="0.0")
    return text.function(text.loop([(x, own), (sums, own)], made.shape, "f32", scaled))


KINDS: dict[str, Callable[[Operation], str]] = {
    "CUMSUM": _running,
    "LOCAL_RESPONSE_NORMALIZATION": _normalized,
    **dict.fromkeys(_STARTS, _segments),
}
