"""NON_MAX_SUPPRESSION, which the converter to TOSA lacks, as MLIR.

Each step takes the box with the highest score. Boxes that overlap it leave, or lose a part of their score.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text, compare, element, index
from bmc.frontends.tflite_signal_lines import Value

# Each step becomes operations of its own.
_MOST_STEPS = 128


def _suppressed(op: Operation) -> str:
    text, chosen = Text(op), op.outputs[0]
    (steps,) = chosen.shape
    if not 0 < steps <= _MOST_STEPS:
        return ""
    boxes, scores, _, overlap, least, *softness = text.inputs
    indices = text.filled([steps], "i32", "0")
    marks = text.filled([steps], "f32", "0.0")
    count = text.filled([], "i32", "0")
    for step in range(steps):
        best, place = _best(text, scores)
        here = [(best, ()), (place, ()), (least, ())]

        def placed(b: Body, value: str, score: str, at: str, limit: str, _: str) -> str:
            counts = compare(b, "gt", score, limit, "f32")
            mine = compare(b, "eq", index(b, 0), b.number(step), "i32")  # noqa: B023
            counts = b.op("andi", counts, mine, kind="i1")
            return b.select(counts, at, value)

        def marked(b: Body, value: str, score: str, _: str, limit: str, __: str) -> str:
            counts = compare(b, "gt", score, limit, "f32")
            mine = compare(b, "eq", index(b, 0), b.number(step), "i32")  # noqa: B023
            counts = b.op("andi", counts, mine, kind="i1")
            return b.line(f"arith.select {counts}, {score}, {value} : f32")

        def counted(b: Body, value: str, score: str, _: str, limit: str, __: str) -> str:
            counts = compare(b, "gt", score, limit, "f32")
            return b.add(value, b.cast("extui", counts, ("i1", "i32")))

        indices = text.loop([(indices, (0,)), *here], [steps], "i32", placed)
        marks = text.loop([(marks, (0,)), *here], [steps], "f32", marked)
        count = text.loop([(count, ()), *here], [], "i32", counted)

        def left(b: Body, score: str, at: str, limit: str, *sigma: str) -> str:
            shared = _shared(b, boxes, index(b, 0), at)
            is_taken = compare(b, "eq", index(b, 0), at, "i32")
            leaves = b.op("ori", is_taken, compare(b, "ge", shared, limit, "f32"), kind="i1")
            if softness:
                score = _softened(b, score, shared, sigma[0])
            return b.line(f"arith.select {leaves}, {b.real(-np.inf)}, {score} : f32")

        others = [(each, ()) for each in (place, overlap, *softness)]
        scores = text.loop([(scores, (0,)), *others], scores.shape, "f32", left)
    return text.function(indices, *((marks,) if softness else ()), count)


def _best(text: Text, scores: Value) -> tuple[Value, Value]:
    """Returns the highest score and the first place that has it."""

    def higher(b: Body, score: str, old: str) -> str:
        return b.line(f"arith.select {compare(b, 'gt', score, old, 'f32')}, {score}, {old} : f32")

    best = text.loop([(scores, (0,))], [], "f32", higher, dims=(), start="0xFF800000")

    def first(b: Body, score: str, high: str, old: str) -> str:
        place = b.op("minsi", old, index(b, 0))
        return b.select(compare(b, "eq", score, high, "f32"), place, old)

    last = str(scores.shape[0] - 1)
    return best, text.loop([(scores, (0,)), (best, ())], [], "i32", first, dims=(), start=last)


def _softened(b: Body, score: str, shared: str, sigma: str) -> str:
    """Returns a score times a bell curve of the shared part, if that has a width."""
    scale = b.op("divf", b.real(-0.5), sigma, kind="f32")
    power = b.op("mulf", b.op("mulf", scale, shared, kind="f32"), shared, kind="f32")
    less = b.op("mulf", score, b.line(f"math.exp {power} : f32"), kind="f32")
    is_soft = compare(b, "gt", sigma, b.real(0), "f32")
    return b.line(f"arith.select {is_soft}, {less}, {score} : f32")


def _shared(b: Body, boxes: Value, one: str, other: str) -> str:
    """Returns what two boxes share of what they cover together."""

    def both(name: str, x: str, y: str) -> str:
        return b.op(name, x, y, kind="f32")

    def area(low: list[str], high: list[str]) -> str:
        return both("mulf", *(both("subf", *ends) for ends in zip(high, low, strict=True)))

    sides = []
    for place in (one, other):
        corners = [element(b, boxes, [place, b.number(side)]) for side in range(4)]
        low = [both("minimumf", corners[axis], corners[axis + 2]) for axis in (0, 1)]
        high = [both("maximumf", corners[axis], corners[axis + 2]) for axis in (0, 1)]
        sides.append((low, high))
    (low, high), (low2, high2) = sides
    inner_low = [both("maximumf", *ends) for ends in zip(low, low2, strict=True)]
    inner_high = [both("minimumf", *ends) for ends in zip(high, high2, strict=True)]
    lengths = [both("subf", *ends) for ends in zip(inner_high, inner_low, strict=True)]
    inner = both("mulf", *(both("maximumf", length, b.real(0)) for length in lengths))
    areas = area(low, high), area(low2, high2)
    share = both("divf", inner, both("subf", both("addf", *areas), inner))
    is_empty = compare(b, "le", both("minimumf", *areas), b.real(0), "f32")
    return b.line(f"arith.select {is_empty}, {b.real(0)}, {share} : f32")


KINDS: dict[str, Callable[[Operation], str]] = {
    "NON_MAX_SUPPRESSION_V4": _suppressed,
    "NON_MAX_SUPPRESSION_V5": _suppressed,
}
