"""Reads how 32-bit integers are multiplied by a fraction: as the high part of a product in 64 bits, rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.product import Unsupported

# Predicates of arith.cmpi for "less than" and "at least" of signed numbers.
_LESS, _AT_LEAST = 2, 5


@dataclass(frozen=True)
class Rescale:
    """trunc((factors[0] * factors[1] + added) >> shift) in 64 bits.

    Attributes:
      factors: two values of 32 bits, or constants that fit into 32 bits.
      added: what is added if the first factor is not negative, and if it is.
      shift: at least 32.
    """

    factors: tuple[Any, Any]
    added: tuple[int, int]
    shift: int


def read(op: Any) -> Rescale | None:
    """Returns what an operation computes if it is the last one of a rescale, None if it is not."""
    if op.name != "arith.trunci" or str(op.operands[0].type) != "i64":
        return None
    right = ir_util.definition(op.operands[0])
    if right is None or right.name not in ("arith.shrui", "arith.shrsi"):
        return None
    shift = ir_util.constant(right.operands[1])
    if shift is None or not (shift == 32 or (32 < shift < 64 and right.name == "arith.shrsi")):
        return None
    terms = _terms(right.operands[0])
    products = [op for op in map(ir_util.definition, terms) if op and op.name == "arith.muli"]
    if len(products) != 1:
        return None
    factors = [_narrow(operand) for operand in products[0].operands]
    if _is_constant(factors[0]):
        factors.reverse()
    added = [_added(term, factors[0]) for term in terms if ir_util.definition(term) != products[0]]
    if any(factor is None for factor in factors) or any(each is None for each in added):
        return None
    positive, negative = (sum(each[side] for each in added if each) for side in (0, 1))
    return Rescale((factors[0], factors[1]), (positive, negative), shift)


def number(constant: Any) -> float:
    """Returns the value of an arith.constant; raises Unsupported if it is no number."""
    attribute = constant.attributes["value"]
    if isinstance(attribute, ir.IntegerAttr):
        return int(ir.IntegerAttr(attribute).value)
    if isinstance(attribute, ir.FloatAttr):
        return float(ir.FloatAttr(attribute).value)
    raise Unsupported("a constant that is no number")


def _is_constant(value: Any) -> bool:
    owner = ir_util.definition(value) if value is not None else None
    return owner is not None and owner.name == "arith.constant"


def _terms(value: Any) -> list[Any]:
    """The values that are added up."""
    owner = ir_util.definition(value)
    if owner is None or owner.name != "arith.addi":
        return [value]
    return [term for operand in owner.operands for term in _terms(operand)]


def _added(term: Any, factor: Any) -> tuple[int, int] | None:
    """What a term is if a factor is not negative, and if it is; None unless both are constants."""
    constant = ir_util.constant(term)
    if constant is not None:
        return constant, constant
    owner = ir_util.definition(term)
    if owner is None or owner.name != "arith.select":
        return None
    condition = ir_util.definition(owner.operands[0])
    yes, no = (ir_util.constant(operand) for operand in list(owner.operands)[1:])
    if condition is None or condition.name != "arith.cmpi" or yes is None or no is None:
        return None
    predicate = ir.IntegerAttr(condition.attributes["predicate"]).value
    left, right = condition.operands
    if left != factor or ir_util.constant(right) != 0 or predicate not in (_LESS, _AT_LEAST):
        return None
    return (yes, no) if predicate == _AT_LEAST else (no, yes)


def _narrow(value: Any) -> Any:
    """The i32 that was extended to an i64, or a constant that is one; None for anything else."""
    owner = ir_util.definition(value)
    if owner is not None and owner.name == "arith.extsi" and str(owner.operands[0].type) == "i32":
        return owner.operands[0]
    if owner is not None and owner.name == "arith.constant" and -(2**31) <= number(owner) < 2**31:
        return value
    return None
