"""Divides the least integer by -1 without an overflow, as frameworks do: the quotient wraps, and the remainder is 0.

The operations of arith and TOSA leave the result open. x86-64 traps, and LLVM may take such a division for one that
never happens. IREE sees to StableHLO's itself.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import arith, constant_arrays, ir_util

_REMAINDER = "arith.remsi"
_QUOTIENTS = ("arith.divsi", "arith.floordivsi", "arith.ceildivsi", "tosa.intdiv")


def apply(module: Any, _: object = None) -> None:
    """Divides by 1 where a divisor is -1. What is divided by 1 has the remainder of -1 already."""
    for op in list(ir_util.walk(module.operation)):
        if op.name != _REMAINDER and op.name not in _QUOTIENTS:
            continue
        divisor = op.operands[1]
        if not isinstance(ir_util.element_type(divisor.type), ir.IntegerType):
            continue
        known = constant_arrays.integers(divisor, module)
        if known is not None and not (known == -1).any():
            continue
        _rewrite(op)


def _rewrite(op: ir_util.Op) -> None:
    dividend, divisor = op.operands
    kind = op.results[0].type
    with ir.InsertionPoint(op), op.location:
        is_minus_one = arith.equal(divisor, -1)
        by = arith.select(is_minus_one, arith.integer(1, divisor), divisor)
        made = arith.made(op.name, dividend, by, kind=kind)
        if op.name != _REMAINDER:
            negative = arith.made("arith.subi", arith.integer(0, dividend), dividend)
            # TOSA's operands may be smaller than the result.
            choice = "tosa.select" if op.name == "tosa.intdiv" else "arith.select"
            made = arith.made(choice, is_minus_one, negative, made, kind=kind)
    op.results[0].replace_all_uses_with(made)
    op.erase()
