"""Recognizes rescales: 32-bit integers times a fraction, as the rounded high part of a 64-bit product.

Rescales that rewrites/rescales has simplified become "fixed_multiply" and "rounding_shift" (ops.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.unsupported import Unsupported

# Predicates of arith.cmpi for "less than" and "at least" of signed numbers.
_LESS, _AT_LEAST = 2, 5


@dataclass(frozen=True)
class Rescale:
    """trunc((factors[0] * factors[1] + added) >> shift) in 64 bits.

    Attributes:
      factors: two int32 values, or constants that fit into int32.
      added: the addend for a first factor of at least 0, and the one for a negative first factor.
      shift: bits, at least 32.
    """

    factors: tuple[Any, Any]
    added: tuple[int, int]
    shift: int


def read(op: Any) -> Rescale | None:
    """Returns the rescale whose last operation is `op`, None if there is none."""
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
    if any(factor is None for factor in factors):
        return None
    added = [_added(term, factors[0]) for term in terms if ir_util.definition(term) != products[0]]
    if any(each is None for each in added):
        return None
    positive, negative = (sum(each[side] for each in added if each) for side in (0, 1))
    return Rescale((factors[0], factors[1]), (positive, negative), shift)


def scaled(op: Any) -> tuple[Any, Any] | None:
    """Returns v and m if `op` is the last operation of (v * m + 2^30) >> 31 in 32 bits, with |v| < 2^29."""
    found = _shifted(op)
    high = ir_util.definition(found[0]) if found and found[1:] == (1, 1) else None
    product = read(high) if high is not None else None
    if product is None or product.added != (0, 0) or product.shift != 32:
        return None
    for four, m in (product.factors, product.factors[::-1]):
        shifted = ir_util.definition(four)
        if (
            shifted is not None
            and shifted.name == "arith.shli"
            and ir_util.constant(shifted.operands[1]) == 2
            and _never_wraps(shifted)
        ):
            return shifted.operands[0], m
    return None


def rounded(op: Any) -> tuple[Any, Any] | None:
    """Returns x and s if `op` is the last operation of (x + (2^s >> 1)) >> s in 32 bits."""
    found = _shifted(op)
    if found is None:
        return None
    x, half, shift = found
    if half is None or half != (1 << shift >> 1 if isinstance(shift, int) else shift):
        return None
    return x, op.operands[1]


def _shifted(op: Any) -> tuple[Any, Any, Any] | None:
    """Returns x, c and s if `op` is the last operation of (x + c) >> s, and the sum does not wrap.

    If s is a constant, s and c are integers (c is None if it is not constant). Otherwise s is a value, and c is s if
    the addend is 2^s >> 1, else None.
    """
    if op.name != "arith.shrsi" or str(op.results[0].type) != "i32":
        return None
    total = ir_util.definition(op.operands[0])
    if total is None or total.name != "arith.addi" or not _never_wraps(total):
        return None
    shift = ir_util.constant(op.operands[1])
    x, added = total.operands
    if shift is not None:
        return x, ir_util.constant(added), shift
    return x, _halved_power(added), op.operands[1]


def _halved_power(value: Any) -> Any:
    """Returns s if a value is 2^s >> 1, else None."""
    half = ir_util.definition(value)
    if half is None or half.name != "arith.shrui" or ir_util.constant(half.operands[1]) != 1:
        return None
    power = ir_util.definition(half.operands[0])
    if power is None or power.name != "arith.shli" or ir_util.constant(power.operands[0]) != 1:
        return None
    return power.operands[1]


def _never_wraps(op: Any) -> bool:
    return "overflowFlags" in op.attributes and "nsw" in str(op.attributes["overflowFlags"])


def number(constant: Any) -> float:
    """Returns the value of an arith.constant; raises Unsupported if it is not a number."""
    attribute = constant.attributes["value"]
    if isinstance(attribute, ir.IntegerAttr):
        return int(ir.IntegerAttr(attribute).value)
    if isinstance(attribute, ir.FloatAttr):
        return float(ir.FloatAttr(attribute).value)
    raise Unsupported("a constant that is not a number")


def _is_constant(value: Any) -> bool:
    owner = ir_util.definition(value) if value is not None else None
    return owner is not None and owner.name == "arith.constant"


def _terms(value: Any) -> list[Any]:
    """Returns the terms of a sum."""
    owner = ir_util.definition(value)
    if owner is None or owner.name != "arith.addi":
        return [value]
    return [term for operand in owner.operands for term in _terms(operand)]


def _added(term: Any, factor: Any) -> tuple[int, int] | None:
    """Returns the value of a term for `factor` >= 0 and for `factor` < 0; None unless both are constants."""
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
    """Returns the int32 that is extended to an int64 value, or a constant that fits into int32, else None."""
    owner = ir_util.definition(value)
    if owner is not None and owner.name == "arith.extsi" and str(owner.operands[0].type) == "i32":
        return owner.operands[0]
    if owner is not None and owner.name == "arith.constant" and -(2**31) <= number(owner) < 2**31:
        return value
    return None
