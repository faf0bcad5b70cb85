"""Ops on bytes, which the converter to TOSA lacks or computes otherwise than LiteRT's kernels, as MLIR."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bmc.frontends import tflite_text
from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text, compare

_COMPARISONS = {
    "EQUAL": "eq",
    "GREATER": "gt",
    "GREATER_EQUAL": "ge",
    "LESS": "lt",
    "LESS_EQUAL": "le",
    "NOT_EQUAL": "ne",
}
# Bits that a byte gets before it is scaled to be compared.
_MORE = 8


def _compared(op: Operation) -> str:
    """Comparisons of bytes with scales of their own."""
    if any(each.dtype != "int8" or not 0 < each.scale < 1 for each in op.inputs):
        return ""

    def body(b: Body, *elements: str) -> str:
        sides = []
        for tensor, element in zip(op.inputs, elements[:2], strict=True):
            x = b.plus(b.cast("extsi", element, ("i8", "i32")), -tensor.zero)
            multipliers, shifts = tflite_text.multipliers(np.array([tensor.scale]), 31)
            wide = b.op("shli", x, b.number(_MORE))
            sides.append(b.scaled(wide, int(multipliers[0]), int(shifts[0])))
        return compare(b, _COMPARISONS[op.kind], *sides, "i32")

    return Text(op).broadcast(body)


KINDS: dict[str, Callable[[Operation], str]] = {
    **dict.fromkeys(_COMPARISONS, _compared),
}
