"""Divides the least integer by -1 without an overflow, as frameworks do: the quotient wraps, and the remainder is 0.

The operations of arith and TOSA leave the result open. x86-64 traps, and LLVM may take such a division for one that
never happens. IREE sees to StableHLO's itself.

A remainder of f64 is a call of a function that IREE's library lacks. It is refused where its line is still known.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.errors import BmcError
from bmc.ir import arith, build, constant_arrays, ir_util, names

_REMAINDER = "arith.remsi"
_QUOTIENTS = ("arith.divsi", "arith.floordivsi", "arith.ceildivsi", "tosa.intdiv")
_REMAINDERS_OF_FLOATS = ("arith.remf", "stablehlo.remainder")


def apply(module: Any, _: object = None) -> None:
    """Divides by 1 where a divisor is -1. What is divided by 1 has the remainder of -1 already.

    Raises:
      BmcError: the model takes a remainder of f64, and no f64 becomes f32.
    """
    ops = list(ir_util.walk(module.operation))
    keeps_f64 = any(_has_f64(op) for op in ops if op.name in names.FUNCTIONS)
    for op in ops:
        if keeps_f64 and op.name in _REMAINDERS_OF_FLOATS and _is_f64(op.results[0].type):
            raise BmcError(
                "op-rejected",
                "the model takes a remainder of f64, for which IREE's library has no function",
                where=ir_util.place([op]),
                hint="take it of f32: a model without f64 inputs and outputs is computed in f32",
            )
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
        by = arith.select(is_minus_one, build.number(1, divisor.type), divisor)
        made = build.op(op.name, kind, dividend, by)
        if op.name != _REMAINDER:
            negative = build.same("arith.subi", build.number(0, dividend.type), dividend)
            # TOSA's operands may be smaller than the result.
            choice = "tosa.select" if op.name == "tosa.intdiv" else "arith.select"
            made = build.op(choice, kind, is_minus_one, negative, made)
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _has_f64(function: ir_util.Op) -> bool:
    """Whether a function has an f64 input or output, so that IREE keeps f64 (iree/phases.py)."""
    of = ir.TypeAttr(function.attributes["function_type"]).value
    return any(map(_is_f64, (*of.inputs, *of.results)))


def _is_f64(type_: Any) -> bool:
    return isinstance(ir_util.element_type(type_), ir.F64Type)
