"""The number whose addition rounds an f32 to an integer, and the clamps that keep what it is added to small enough."""

from __future__ import annotations

from bmc.ir import ir_util

CLAMPS = ("arith.maxnumf", "arith.minnumf")
# 1.5 * 2^23. Between 2^23 and 2^24 neighboring f32 values are 1 apart, and their lowest bits count up.
MAGIC = 12582912.0
# Keeps the sum in that range.
LARGEST = 2.0**22


def is_magic(value: float | None) -> bool:
    """Whether this is MAGIC, with a zero point or without."""
    return value is not None and abs(value - MAGIC) <= 256


def clamps(value: ir_util.Value) -> tuple[list[tuple[ir_util.Op, float]], ir_util.Value]:
    """Returns the clamps to constants that end in `value`, the last one first, and what they clamp."""
    found: list[tuple[ir_util.Op, float]] = []
    while (clamp := ir_util.defined_by(value, *CLAMPS)) is not None:
        bound = ir_util.float_constant(clamp.operands[1])
        if bound is None:
            break
        found.append((clamp, bound))
        value = clamp.operands[0]
    return found, value
