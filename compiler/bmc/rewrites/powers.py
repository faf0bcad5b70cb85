"""Gives powers, and the angles of atan2, the signs and special values that they have in C and in frameworks.

IREE computes a power as exp(y * log(x)), which is NaN for a negative x, and for 0 ** 0, inf ** 0 and 1 ** inf. Its
atan2 is NaN for two zeros or two infinities, and pi for -0 and a negative number, where it should be -pi.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import constant_arrays, ir_util

_POWERS = ("math.powf", "stablehlo.power", "tosa.pow")
_ANGLES = ("math.atan2", "stablehlo.atan2")
# IREE has its own ways of computing these powers. Two are roots, as in PyTorch: C has others for -inf and -0.
_ROOTS = (-0.5, 0.5)
_RIGHT = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, *_ROOTS)
# What has the same number in all its elements if its operand has, apart from rounding.
_ALIKE = (
    "arith.extf", "arith.sitofp", "arith.truncf", "stablehlo.broadcast_in_dim", "stablehlo.convert",
    "stablehlo.reshape", "tensor.collapse_shape", "tensor.expand_shape", "tosa.cast", "tosa.reshape",
)  # fmt: skip
# PyTorch's norms divide 1 by their order, and take that power.
_QUOTIENTS = ("arith.divf", "stablehlo.divide")
# The numbers of arith's comparisons of floats.
_OEQ, _OLT, _ULT, _UNE = 1, 4, 11, 13
# The sign bit of an f32.
_SIGN = -(1 << 31)


def apply(module: Any, _: object = None) -> None:
    """Rewrites the powers and angles of f32. Operations of arith and math take tensors as well as scalars."""
    for op in list(ir_util.walk(module.operation)):
        if op.name not in (*_POWERS, *_ANGLES):
            continue
        kind = op.results[0].type
        if not isinstance(ir_util.element_type(kind), ir.F32Type):
            continue
        with ir.InsertionPoint(op), op.location:
            made = _power(op, module) if op.name in _POWERS else _angle(op)
        if made is not None:
            op.results[0].replace_all_uses_with(made)
            op.erase()


def _power(op: ir_util.Op, module: Any) -> Any:
    """Computes a power of the absolute value, and makes of it that of the value; returns None for a right one."""
    base, exponent = op.operands
    known, positive = _number(exponent, module), _number(base, module)
    if known in _RIGHT or (positive is not None and 0 < positive < math.inf and positive != 1):
        return None
    constant = known if known is not None and math.isfinite(known) else None
    # TOSA's operands may be smaller than the result.
    if base.type != op.results[0].type or (constant is None and exponent.type != base.type):
        return None
    size = _made("math.absf", base)
    power = _made(op.name, size, exponent)
    if constant is None:
        return _any_power(base, size, exponent, power)
    if constant % 2 == 0:
        return power
    if constant % 2 == 1:
        return _signed(power, base)
    return _select(_undefined(base, size), _constant(math.nan, base), power)


def _any_power(base: Any, size: Any, exponent: Any, power: Any) -> Any:
    """Numbers from 2 ** 24 are even integers. Without floor(), which not all targets have."""
    large, height = _constant(2.0**24, exponent), _made("math.absf", exponent)
    whole = _select(_compared(_OLT, height, large), height, large)
    whole = _made("arith.fptosi", whole, kind=_like(exponent, ir.IntegerType.get_signless(32)))
    truncated = _made("arith.sitofp", whole, kind=exponent.type)
    fractional = _made(
        "arith.andi", _compared(_UNE, truncated, height), _compared(_ULT, height, large)
    )
    odd = _made("arith.trunci", whole, kind=fractional.type)
    one = _made(
        "arith.ori",
        _compared(_OEQ, exponent, _constant(0.0, exponent)),
        _compared(_OEQ, size, _constant(1.0, base)),
    )
    power = _select(one, _constant(1.0, base), power)
    # The sign of the base is that of all integers' powers but the even ones'.
    signed = _select(odd, _signed(power, base), power)
    power = _select(fractional, power, signed)
    undefined = _made("arith.andi", _undefined(base, size), fractional)
    return _select(undefined, _constant(math.nan, base), power)


def _undefined(base: Any, size: Any) -> Any:
    """Whether no fractional power of a number exists. Those of -inf do."""
    negative = _compared(_OLT, base, _constant(0.0, base))
    return _made("arith.andi", negative, _compared(_OLT, size, _constant(math.inf, base)))


def _angle(op: ir_util.Op) -> Any:
    """Computes the angle above the axis, and gives it the sign of y. Two equal sizes may as well be 1, or 0 and 1."""
    y, x = op.operands
    one, height = _constant(1.0, x), _made("math.absf", y)
    equal = _compared(_OEQ, height, _made("math.absf", x))
    apart_from_zero = _made("arith.andi", equal, _compared(_UNE, y, _constant(0.0, y)))
    height = _select(apart_from_zero, one, height)
    width = _select(equal, _signed(one, x), x)
    return _signed(_made(op.name, height, width), y)


def _signed(size: Any, value: Any) -> Any:
    """Gives a number without a sign that of another. IREE's interpreter has no copysign."""
    kind = _like(value, ir.IntegerType.get_signless(32))
    sign = _made("arith.bitcast", value, kind=kind)
    sign = _made(
        "arith.andi", sign, _splat(ir.IntegerAttr.get(ir_util.element_type(kind), _SIGN), kind)
    )
    joined = _made("arith.ori", _made("arith.bitcast", size, kind=kind), sign)
    return _made("arith.bitcast", joined, kind=value.type)


def _number(value: Any, module: Any) -> float | None:
    """Returns the number that a value is known to be, or all its elements."""
    while True:
        owner = ir_util.definition(value)
        if owner is None:
            # The body of linalg.generic gets an element of each operand.
            generic, place = value.owner.owner.operation, ir.BlockArgument(value).arg_number
            inputs = len(generic.operands) - len(generic.results)
            if generic.name != "linalg.generic" or place >= inputs:
                return None
            value = generic.operands[place]
        elif owner.name in _ALIKE and isinstance(
            ir_util.element_type(owner.results[0].type), ir.FloatType
        ):
            value = owner.operands[0]
        elif owner.name in _QUOTIENTS:
            first, second = (_number(operand, module) for operand in owner.operands)
            return float(np.float32(first / second)) if first is not None and second else None
        else:
            break
    found = constant_arrays.numbers(value, module)
    if found is None:
        found = constant_arrays.doubles(value, module)
    if found is None or not found.size or (found != found.flat[0]).any():
        return None
    return float(np.float32(found.flat[0]))


def _constant(number: float, like: Any) -> Any:
    return _splat(ir.FloatAttr.get(ir.F32Type.get(), number), like.type)


def _splat(value: Any, kind: Any) -> Any:
    if isinstance(kind, ir.RankedTensorType):
        value = ir.DenseElementsAttr.get_splat(kind, value)
    return ir.Operation.create("arith.constant", [kind], attributes={"value": value}).result


def _made(name: str, *operands: Any, kind: Any = None) -> Any:
    return ir.Operation.create(name, [kind or operands[0].type], list(operands)).result


def _compared(predicate: int, first: Any, second: Any) -> Any:
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return ir.Operation.create(
        "arith.cmpf",
        [_like(first, ir.IntegerType.get_signless(1))],
        [first, second],
        attributes={"predicate": number},
    ).result


def _like(value: Any, element: Any) -> Any:
    """Returns the type of a value with other elements."""
    kind = value.type
    return ir.RankedTensorType.get(kind.shape, element) if hasattr(kind, "shape") else element


def _select(condition: Any, then: Any, otherwise: Any) -> Any:
    return ir.Operation.create("arith.select", [then.type], [condition, then, otherwise]).result
