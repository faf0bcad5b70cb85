"""Ops that add up or multiply parts of a tensor, which the converter to TOSA lacks or rounds otherwise, as MLIR."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bmc.frontends import tflite_text
from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text, compare, index
from bmc.frontends.tflite_signal_lines import Value

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
        near = b.op("maxsi", distance, b.minus(0, distance))
        counts = compare(b, "le", near, b.number(options.radius), "i32")
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


def _sum(op: Operation) -> str:
    """SUM of integers with scales: LiteRT makes them in floats, but adds up before."""
    x, made = op.inputs[0], op.outputs[0]
    if x.dtype not in ("int8", "int16") or not (x.scale and made.scale):
        return ""
    text = Text(op)
    if (axes := _axes(op)) is None:
        return ""

    def add(b: Body, value: str, old: str) -> str:
        return b.add(old, b.cast("extsi", value, (x.element, "i32")))

    scale = x.scale / made.scale
    count = int(np.prod([x.shape[axis] for axis in axes]))
    bias = np.float32(-x.zero) * scale * np.float32(count)

    def scaled(b: Body, total: str, _: str) -> str:
        number = b.cast("sitofp", total, ("i32", "f32"))
        number = b.op("mulf", number, b.real(float(scale)), kind="f32")
        whole = b.line(f"math.round {b.op('addf', number, b.real(float(bias)), kind='f32')} : f32")
        # What no float of 32 bits is away from an integer that fits into them.
        large = b.real(2.0**24)
        low = b.line(f"arith.maximumf {whole}, {b.real(-(2.0**24))} : f32")
        limited = b.line(f"arith.minimumf {low}, {large} : f32")
        return b.fitted(b.plus(b.cast("fptosi", limited, ("f32", "i32")), made.zero), made.element)

    sums = _reduced(text, axes, add, "0")
    return _ended(
        text, text.loop([(sums, range(len(sums.shape)))], sums.shape, made.element, scaled)
    )


def _product(op: Operation) -> str:
    """REDUCE_PROD of integers with scales: each product is scaled, so that the next one fits."""
    x, made = op.inputs[0], op.outputs[0]
    if x.dtype not in ("int8", "int16") or not (x.scale and made.scale):
        return ""
    text, rank = Text(op), len(x.shape)
    if (axes := _axes(op)) is None:
        return ""
    count = int(np.prod([x.shape[axis] for axis in axes]))
    scale = float(x.scale) / float(made.scale) ** (1 / count)
    multipliers, shifts = tflite_text.multipliers(np.array([scale]), 15)
    # A shift to the left would need more bits.
    if shifts[0] < 1:
        return ""

    def scaled(b: Body, wide: str) -> str:
        """Returns an i64, scaled and cut off to an i32, as LiteRT does."""
        product = b.op("muli", wide, b.number(int(multipliers[0]), "i64"), kind="i64")
        up = b.op("addi", product, b.number(1 << (int(shifts[0]) - 1), "i64"), kind="i64")
        shifted = b.op("shrsi", up, b.number(int(shifts[0]), "i64"), kind="i64")
        return b.cast("trunci", shifted, ("i64", "i32"))

    def multiply(b: Body, value: str, old: str) -> str:
        number = b.plus(b.cast("extsi", value, (x.element, "i32")), -x.zero)
        wide = [b.cast("extsi", each, ("i32", "i64")) for each in (number, old)]
        product = scaled(b, b.op("muli", *wide, kind="i64"))
        first = b.line("arith.constant true")
        for loop in range(rank - len(axes), rank):
            is_first = compare(b, "eq", index(b, loop), b.number(0), "i32")
            first = b.op("andi", first, is_first, kind="i1")
        return b.select(first, number, product)

    def last(b: Body, value: str, _: str) -> str:
        result = scaled(b, b.cast("extsi", value, ("i32", "i64")))
        return b.fitted(b.plus(result, made.zero), made.element)

    products = _reduced(text, axes, multiply, "1")
    own = range(len(products.shape))
    return _ended(text, text.loop([(products, own)], products.shape, made.element, last))


def _axes(op: Operation) -> list[int] | None:
    """Returns the axes that a reduction takes away, None if the file leaves them open."""
    rank, axes = len(op.inputs[0].shape), op.inputs[1].value
    return None if axes is None else sorted({int(axis) % rank for axis in axes.reshape(-1)})


def _reduced(text: Text, axes: list[int], body: Callable[..., str], start: str) -> Value:
    """Returns an i32 for each part of the operand along these axes, which the last loops run through in order."""
    x = text.inputs[0]
    kept = [axis for axis in range(len(x.shape)) if axis not in axes]
    order = [*kept, *axes]
    places = [order.index(axis) for axis in range(len(order))]
    shape = [x.shape[axis] for axis in kept]
    return text.loop([(x, places)], shape, "i32", body, dims=range(len(kept)), start=start)


def _ended(text: Text, made: Value) -> str:
    """Returns the function of a result that may still lack dimensions of one element."""
    return text.function(text.shaped(made, text.op.outputs[0].shape))


KINDS: dict[str, Callable[[Operation], str]] = {
    "CUMSUM": _running,
    "LOCAL_RESPONSE_NORMALIZATION": _normalized,
    "REDUCE_PROD": _product,
    "SUM": _sum,
    **dict.fromkeys(_STARTS, _segments),
}
