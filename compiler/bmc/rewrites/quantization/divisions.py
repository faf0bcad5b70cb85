"""Quantization divides with multiplications.

A division takes many times the cycles of a multiplication, and vectors gain least with it. What `rounding` makes of a
quantization, min(max(x / scale, low), high) + 1.5 * 2^23, divides by a constant. So

    q = x * (1 / scale)
    q + (x - scale * q) * (1 / scale)

is the quotient, correctly rounded, if each line's products are added without rounding them first and nothing
overflows or underflows (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990).
x is limited instead of the quotient, so nothing overflows; what underflows is lost in the addition in any case.
The result is the same for every x, including infinities and NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import build, ir_util
from bmc.rewrites.context import Context
from bmc.rewrites.quantization import magic_number

# Between these, no quotient of 1/4 or more underflows on the way.
_SCALES = (2.0**-60, 2.0**60)


def apply(module: Any, _: Context) -> None:
    """Rewrites every division of a quantization whose quotient nothing else reads."""
    for op in list(ir_util.walk(module.operation)):
        is_sum = op.name == "arith.addf" and str(op.results[0].type) == "f32"
        if is_sum and magic_number.is_magic(ir_util.float_constant(op.operands[1])):
            _rewrite(op)


def _rewrite(addition: ir_util.Op) -> None:
    limits, clamped = magic_number.clamps(addition.operands[0])
    # A quotient next to an end is rounded to that end only if the end is an integer.
    if {clamp.name for clamp, _ in limits} != set(magic_number.CLAMPS) or not all(
        bound.is_integer() and abs(bound) <= magic_number.LARGEST for _, bound in limits
    ):
        return
    division = ir_util.definition(clamped)
    if division is None or division.name != "arith.divf" or len(ir_util.uses(clamped)) != 1:
        return
    divisor = ir_util.float_constant(division.operands[1])
    if divisor is None or not _SCALES[0] < divisor < _SCALES[1]:
        return
    scale = np.float32(divisor)
    ends = [
        (clamp.name, limit(clamp.name, np.float32(bound), scale)) for clamp, bound in limits[::-1]
    ]
    f32 = clamped.type
    with ir.InsertionPoint(addition), addition.location:
        x = division.operands[0]
        for name, end in ends:
            x = build.op(name, f32, x, build.number(end, f32))
        inverse = build.number(np.float32(1) / scale, f32)
        quotient = build.op("arith.mulf", f32, x, inverse)
        rest = build.op("math.fma", f32, quotient, build.number(-scale, f32), x)
        addition.operands[0] = build.op("math.fma", f32, rest, inverse, quotient)
    ir_util.erase_unread([*(clamp for clamp, _ in limits), division])


def limit(name: str, bound: np.float32, scale: np.float32) -> np.float32:
    """Returns the last x whose quotient a clamp to `bound` leaves alone.

    Args:
      name: "arith.maxnumf" for a lower bound, "arith.minnumf" for an upper one.
      bound: of the quotient.
      scale: what x is divided by.
    """
    if bound == 0:
        return np.float32(0)
    inside = np.float32(np.inf if name == "arith.maxnumf" else -np.inf)

    def is_left_alone(x: np.float32) -> bool:
        quotient = x / scale
        return bool(quotient >= bound if inside > 0 else quotient <= bound)

    x = bound * scale
    while not is_left_alone(x):
        x = np.nextafter(x, inside)
    while is_left_alone(beyond := np.nextafter(x, -inside)):
        x = beyond
    return x
