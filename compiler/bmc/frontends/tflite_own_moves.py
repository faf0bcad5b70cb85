"""Ops that move elements or put them in order, which the converter to TOSA lacks, as MLIR.

Where LiteRT goes through a tensor step by step, each result looks at all elements here, so that all are alike.
"""

from __future__ import annotations

from collections.abc import Callable

from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text, compare, element, index


def _bits(op: Operation) -> str:
    """BITCAST of elements to others of as many bits."""
    given, made = op.inputs[0].element, op.outputs[0].element
    if int(given[1:]) != int(made[1:]) or given == made:
        return ""
    return Text(op).broadcast(lambda b, x, _: b.cast("bitcast", x, (given, made)))


def _diagonal(op: Operation) -> str:
    """MATRIX_DIAG: the elements of rows on the diagonals of matrices of zeros."""
    text, made = Text(op), op.outputs[0]
    rows = len(made.shape) - 2

    def body(b: Body, x: str, _: str) -> str:
        zero = b.number(0, made.element) if not made.is_float else b.real(0)
        on = compare(b, "eq", index(b, rows), index(b, rows + 1), "i32")
        return b.line(f"arith.select {on}, {x}, {zero} : {made.element}")

    operand = (text.inputs[0], range(rows + 1))
    return text.function(text.loop([operand], made.shape, made.element, body))


def _set_diagonal(op: Operation) -> str:
    """MATRIX_SET_DIAG: matrices with other diagonals."""
    text, made = Text(op), op.outputs[0]
    rows = len(made.shape) - 2
    # Rows below the last column have no element there.
    diagonals = text.padded(text.inputs[1], made.shape[:-1])

    def body(b: Body, x: str, other: str, _: str) -> str:
        on = compare(b, "eq", index(b, rows), index(b, rows + 1), "i32")
        return b.line(f"arith.select {on}, {other}, {x} : {made.element}")

    operands = [(text.inputs[0], range(rows + 2)), (diagonals, range(rows + 1))]
    return text.function(text.loop(operands, made.shape, made.element, body))


def _fill(op: Operation) -> str:
    """FILL: one element again and again."""
    text, made = Text(op), op.outputs[0]
    operand = (text.inputs[1], ())
    return text.function(text.loop([operand], made.shape, made.element, lambda _, x, __: x))


def _updated(op: Operation) -> str:
    """DYNAMIC_UPDATE_SLICE: a tensor with a smaller one put into it, where there is room for all of that."""
    text, made = Text(op), op.outputs[0]
    x, new, starts = text.inputs

    def body(b: Body, old: str, _: str) -> str:
        places, hit = [], b.line("arith.constant true")
        for dim, (size, room) in enumerate(zip(new.shape, x.shape, strict=True)):
            start = element(b, starts, [b.number(dim)])
            most = b.number(room - size, starts.element)
            start = b.op("minsi", start, most, kind=starts.element)
            start = b.op("maxsi", start, b.number(0, starts.element), kind=starts.element)
            if starts.element == "i64":
                start = b.cast("trunci", start, ("i64", "i32"))
            place = b.op("subi", index(b, dim), start)
            # What is read outside the new part does not count.
            places.append(b.limit(place, 0, size - 1))
            hit = b.op("andi", hit, compare(b, "eq", place, places[-1], "i32"), kind="i1")
        return b.line(f"arith.select {hit}, {element(b, new, places)}, {old} : {made.element}")

    operand = (x, range(len(x.shape)))
    return text.function(text.loop([operand], made.shape, made.element, body))


def _zeros(op: Operation) -> str:
    text, made = Text(op), op.outputs[0]
    number = "0.0" if made.is_float else "false" if made.dtype == "bool" else "0"
    return text.function(text.filled(made.shape, made.element, number))


def _one_hot(op: Operation) -> str:
    """ONE_HOT: an index that is out of range leaves a row without a hot element."""
    text, made = Text(op), op.outputs[0]
    indices, _, on, off = text.inputs
    axis = op.options.axis % len(made.shape)

    def body(b: Body, at: str, yes: str, no: str, _: str) -> str:
        place = index(b, axis, indices.element)
        hot = compare(b, "eq", at, place, indices.element)
        return b.line(f"arith.select {hot}, {yes}, {no} : {made.element}")

    others = [dim for dim in range(len(made.shape)) if dim != axis]
    operands = [(indices, others), (on, ()), (off, ())]
    return text.function(text.loop(operands, made.shape, made.element, body))


def _reversed(op: Operation) -> str:
    """REVERSE_SEQUENCE: the first elements of a sequence, backwards."""
    text, made = Text(op), op.outputs[0]
    x, lengths = text.inputs
    options = op.options

    def body(b: Body, count: str, _: str) -> str:
        if lengths.element == "i64":
            count = b.cast("trunci", count, ("i64", "i32"))
        at = [index(b, dim) for dim in range(len(x.shape))]
        place = at[options.seqDim]
        opposite = b.op("subi", b.plus(count, -1), place)
        inside = compare(b, "lt", place, count, "i32")
        at[options.seqDim] = b.select(inside, opposite, place)
        return element(b, x, at)

    operands = [(lengths, [options.batchDim])]
    return text.function(text.loop(operands, made.shape, made.element, body))


def _dense(op: Operation) -> str:
    """SPARSE_TO_DENSE: values at their indices, the others alike."""
    text, made = Text(op), op.outputs[0]
    indices, _, values, default = text.inputs
    count = len(made.shape)
    start = text.loop([(default, ())], made.shape, made.element, lambda _, x, __: x)
    each = (values, (count,)) if values.shape else (values, ())

    def body(b: Body, _: str, value: str, old: str) -> str:
        hit = b.line("arith.constant true")
        for dim in range(count):
            at = [index(b, count), b.number(dim)][: len(indices.shape)]
            same = compare(
                b,
                "eq",
                element(b, indices, at),
                index(b, dim, indices.element),
                indices.element,
            )
            hit = b.op("andi", hit, same, kind="i1")
        return b.line(f"arith.select {hit}, {value}, {old} : {made.element}")

    # What runs through the values: the loop has its extent from an operand.
    extent = text.empty(indices.shape[:1] or (1,), "i1")
    operands = [(extent, (count,)), each]
    dims = range(count)
    return text.function(
        text.loop(operands, made.shape, made.element, body, dims=dims, start=start)
    )


def _largest(op: Operation) -> str:
    """TOPK_V2: each element counts those before it, which are larger, or as large with a smaller index."""
    text, (values, indices) = Text(op), op.outputs
    x = text.inputs[0]
    last = len(x.shape) - 1
    rest = [*range(last)]

    def count(b: Body, mine: str, other: str, old: str) -> str:
        larger = compare(b, "gt", other, mine, x.element)
        same = compare(b, "eq", other, mine, x.element)
        first = compare(b, "lt", index(b, last + 1), index(b, last), "i32")
        before = b.op("ori", larger, b.op("andi", same, first, kind="i1"), kind="i1")
        return b.add(old, b.cast("extui", before, ("i1", "i32")))

    own = [*rest, last]
    pairs = [(x, own), (x, [*rest, last + 1])]
    rank = text.loop(pairs, x.shape, "i32", count, dims=own, start="0")

    made = []
    for tensor, takes in ((values, True), (indices, False)):

        def body(b: Body, value: str, place: str, old: str, takes: bool = takes) -> str:
            mine = compare(b, "eq", place, index(b, last), "i32")
            new = value if takes else index(b, last + 1)
            kind = x.element if takes else "i32"
            return b.line(f"arith.select {mine}, {new}, {old} : {kind}")

        operands = [(each, [*rest, last + 1]) for each in (x, rank)]
        zero = "0.0" if tensor.is_float else "0"
        made.append(text.loop(operands, tensor.shape, tensor.element, body, dims=own, start=zero))
    return text.function(*made)


def _numbered(op: Operation) -> str:
    """UNIQUE: the places of elements among those that are different, if nothing reads how many these are."""
    text, (values, numbers) = Text(op), op.outputs
    (x,) = text.inputs
    if 0 not in op.unread:
        return ""
    kind, most = numbers.element, x.shape[0]

    def first(b: Body, mine: str, other: str, old: str) -> str:
        same = compare(b, "eq", mine, other, x.element)
        place = b.select(same, index(b, 1), b.number(most))
        return b.op("minsi", old, place)

    firsts = text.loop([(x, (0,)), (x, (1,))], x.shape, "i32", first, dims=(0,), start=str(most))

    def before(b: Body, mine: str, other: str, old: str) -> str:
        place = index(b, 1)
        is_first = compare(b, "eq", other, place, "i32")
        counts = b.op("andi", is_first, compare(b, "lt", place, mine, "i32"), kind="i1")
        return b.op("addi", old, b.cast("extui", counts, ("i1", kind)), kind=kind)

    operands = [(firsts, (0,)), (firsts, (1,))]
    made = text.loop(operands, numbers.shape, kind, before, dims=(0,), start="0")
    zero = "0.0" if values.is_float else "0"
    return text.function(text.filled(values.shape, values.element, zero), made)


KINDS: dict[str, Callable[[Operation], str]] = {
    "BITCAST": _bits,
    "DYNAMIC_UPDATE_SLICE": _updated,
    "FILL": _fill,
    "MATRIX_DIAG": _diagonal,
    "MATRIX_SET_DIAG": _set_diagonal,
    "ONE_HOT": _one_hot,
    "REVERSE_SEQUENCE": _reversed,
    "SPARSE_TO_DENSE": _dense,
    "TOPK_V2": _largest,
    "UNIQUE": _numbered,
    "ZEROS_LIKE": _zeros,
}
