"""Gives powers, roots, and the angles of atan2, the signs and special values that they have in C and in frameworks.

IREE computes a power as exp(y * log(x)), which is NaN for a negative x, and for 0 ** 0, inf ** 0 and 1 ** inf. Powers
of 0.5 and -0.5 are square roots in IREE, as in PyTorch, for which frontends/torch_substitutes.py makes them roots. In C
and in other frameworks, those of -inf exist, and those of -0 have no sign. IREE's cube root of infinity is NaN. Its
atan2 is NaN for two zeros or two infinities, and pi for -0 and a negative number, where it should be -pi.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import arith, build, constant_arrays, ir_util, names

_POWERS = ("math.powf", "stablehlo.power", "tosa.pow")
_ANGLES = ("math.atan2", "stablehlo.atan2")
_CUBE_ROOTS = ("math.cbrt", "stablehlo.cbrt")
# IREE has its own ways of computing these powers, and those of no negative number.
_RIGHT = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
_ROOTS = (-0.5, 0.5)
# What has the same number in all its elements if its operand has, apart from rounding.
_ALIKE = (
    "arith.extf", "arith.sitofp", "arith.truncf", "stablehlo.broadcast_in_dim", "stablehlo.convert",
    "stablehlo.reshape", names.COLLAPSE_SHAPE, names.EXPAND_SHAPE, "tosa.cast", "tosa.reshape",
)  # fmt: skip
# What is not negative, and what is not if none of its operands is.
_CONSTANTS = ("arith.constant", "stablehlo.constant")
_SIZES = (
    *("math.absf", "math.exp", "math.sqrt"),
    *("stablehlo.abs", "stablehlo.exponential", "stablehlo.sqrt"),
)
_PRODUCTS = ("arith.mulf", "stablehlo.multiply")
_KEEPING = (
    *_ALIKE, *_PRODUCTS, "arith.addf", "arith.divf", "arith.maximumf", "stablehlo.add", "stablehlo.divide",
    "stablehlo.maximum",
)  # fmt: skip
# PyTorch's norms divide 1 by their order, and take that power.
_QUOTIENTS = ("arith.divf", "stablehlo.divide")


def apply(module: Any, _: object = None) -> None:
    """Rewrites powers of floats, and angles and cube roots of floats up to f32; half floats become f32.

    Operations of arith and math take tensors as well as scalars.
    """
    for op in list(ir_util.walk(module.operation)):
        if op.name not in (*_POWERS, *_ANGLES, *_CUBE_ROOTS):
            continue
        element = ir_util.element_type(op.results[0].type)
        if not isinstance(element, ir.FloatType) or op.name in _POWERS and _is_right(op, module):
            continue
        if isinstance(element, ir.F64Type) and op.name not in _POWERS:
            continue
        if arith.is_half(op.results[0].type):
            op = arith.widened(op)
        with ir.InsertionPoint(op), op.location:
            if op.name in _CUBE_ROOTS:
                _cube_root(op)
                continue
            made = _power(op, module) if op.name in _POWERS else _angle(op)
        op.results[0].replace_all_uses_with(made)
        op.erase()


def _is_right(op: ir_util.Op, module: Any) -> bool:
    """Whether IREE computes a power rightly as it is."""
    base, exponent = op.operands
    known, positive = _number(exponent, module), _number(base, module)
    if known in _RIGHT or (positive is not None and 0 < positive < math.inf and positive != 1):
        return True
    return known in _ROOTS and _is_not_negative(base, module)


def _power(op: ir_util.Op, module: Any) -> Any:
    """Computes a power of the absolute value, and makes of it that of the value."""
    base, exponent = op.operands
    known = _number(exponent, module)
    constant = known if known is not None and math.isfinite(known) else None
    # TOSA's operands may be smaller than the result.
    kind = op.results[0].type
    base = _repeated(base, kind)
    if constant is None:
        exponent = _repeated(exponent, kind)
    size = build.same("math.absf", base)
    power = build.same(op.name, size, exponent)
    if constant is None:
        return _any_power(base, size, exponent, power)
    if constant % 2 == 0:
        return power
    if constant % 2 == 1:
        return _signed(power, base)
    return arith.select(_undefined(base, size), build.number(math.nan, base.type), power)


def _repeated(value: Any, kind: Any) -> Any:
    """Repeats a tensor of TOSA along dimensions of size 1 until it has the type `kind`."""
    if value.type == kind:
        return value
    pairs = zip(kind.shape, value.type.shape, strict=True)
    repeats = np.array([size if own == 1 else 1 for size, own in pairs])
    index = ir.IndexType.get()
    values = ir.DenseElementsAttr.get(repeats, type=index)
    kind_of_shape = ir.Type.parse(f"!tosa.shape<{repeats.size}>")
    shape = build.op("tosa.const_shape", kind_of_shape, values=values)
    return build.op("tosa.tile", kind, value, shape)


def _any_power(base: Any, size: Any, exponent: Any, power: Any) -> Any:
    """Numbers from 2 ** 24 are even integers. Without floor(), which not all targets have."""
    large, height = build.number(2.0**24, exponent.type), build.same("math.absf", exponent)
    whole = arith.select(arith.compared(arith.OLT, height, large), height, large)
    whole = build.op("arith.fptosi", arith.like(exponent, ir.IntegerType.get_signless(32)), whole)
    truncated = build.op("arith.sitofp", exponent.type, whole)
    fractional = build.same(
        "arith.andi",
        arith.compared(arith.UNE, truncated, height),
        arith.compared(arith.ULT, height, large),
    )
    odd = build.op("arith.trunci", fractional.type, whole)
    one = build.same(
        "arith.ori",
        arith.compared(arith.OEQ, exponent, build.number(0.0, exponent.type)),
        arith.compared(arith.OEQ, size, build.number(1.0, base.type)),
    )
    power = arith.select(one, build.number(1.0, base.type), power)
    # The sign of the base is that of all integers' powers but the even ones'.
    signed = arith.select(odd, _signed(power, base), power)
    power = arith.select(fractional, power, signed)
    undefined = build.same("arith.andi", _undefined(base, size), fractional)
    return arith.select(undefined, build.number(math.nan, base.type), power)


def _signed(power: Any, base: Any) -> Any:
    """Gives a power the sign of its base."""
    if not isinstance(ir_util.element_type(base.type), ir.F64Type):
        return arith.signed(power, base)
    # IREE may make f32 of f64, which has other bits. The inverse of -0 is less than 0.
    zero, one = (build.number(number, base.type) for number in (0.0, 1.0))
    inverse = build.same("arith.divf", one, base)
    negative = [arith.compared(arith.OLT, each, zero) for each in (base, inverse)]
    opposite = build.same("arith.negf", power)
    return arith.select(build.same("arith.ori", *negative), opposite, power)


def _undefined(base: Any, size: Any) -> Any:
    """Whether no fractional power of a number exists. Those of -inf do."""
    negative = arith.compared(arith.OLT, base, build.number(0.0, base.type))
    return build.same(
        "arith.andi", negative, arith.compared(arith.OLT, size, build.number(math.inf, base.type))
    )


def _is_not_negative(
    value: Any, module: Any, within: Any = None, asked: set[Any] | None = None
) -> bool:
    """Whether a number is known to have no sign, as a sum of squares.

    Args:
      within: a loop whose result it is part of.
      asked: values that another call judges, so that each is judged once.
    """
    asked = set() if asked is None else asked
    if (value, within) in asked:
        return True
    asked.add((value, within))
    op = ir_util.definition(value)
    if op is None:
        loop, place = value.owner.owner.operation, ir.BlockArgument(value).arg_number
        if loop.name != names.GENERIC:
            return False
        # The sum so far has no sign if that with which it begins and that with which it goes on have none.
        is_sum = place >= len(loop.operands) - len(loop.results)
        return (not is_sum or loop == within) and _is_not_negative(
            loop.operands[place], module, asked=asked
        )
    operands = list(op.operands)
    if op.name == names.GENERIC:
        body = op.regions[0].blocks[0].operations
        yielded = body[len(body) - 1].operands[ir.OpResult(value).result_number]
        return _is_not_negative(yielded, module, op, asked)
    if op.name == "stablehlo.reduce":
        bodies = [each.operation.name for each in op.regions[0].blocks[0].operations]
        if bodies != ["stablehlo.add", "stablehlo.return"]:
            return False
    elif op.name in _CONSTANTS:
        number = _number(value, module)
        return number is not None and not math.copysign(1, number) < 0
    elif op.name in _POWERS:
        return _number(operands[1], module) == 2
    elif op.name in _PRODUCTS and operands[0] == operands[1]:
        return True
    elif op.name == names.FILL:
        operands = operands[:1]
    elif op.name not in _KEEPING:
        return op.name in _SIZES
    return all(_is_not_negative(operand, module, within, asked) for operand in operands)


def _cube_root(op: ir_util.Op) -> None:
    """Takes the root of 1 for that of infinity, which is itself."""
    x = op.operands[0]
    finite = arith.compared(arith.OLT, build.same("math.absf", x), build.number(math.inf, x.type))
    found = build.same(op.name, arith.select(finite, x, build.number(1.0, x.type)))
    op.results[0].replace_all_uses_with(arith.select(finite, found, x))
    op.erase()


def _angle(op: ir_util.Op) -> Any:
    """Computes the angle above the axis, and gives it the sign of y. Two equal sizes may as well be 1, or 0 and 1."""
    y, x = op.operands
    one, height = build.number(1.0, x.type), build.same("math.absf", y)
    equal = arith.compared(arith.OEQ, height, build.same("math.absf", x))
    apart_from_zero = build.same(
        "arith.andi", equal, arith.compared(arith.UNE, y, build.number(0.0, y.type))
    )
    height = arith.select(apart_from_zero, one, height)
    width = arith.select(equal, arith.signed(one, x), x)
    return arith.signed(build.same(op.name, height, width), y)


def _number(value: Any, module: Any) -> float | None:
    """Returns the number that a value is known to be, or all its elements."""
    while True:
        owner = ir_util.definition(value)
        if owner is None:
            # The body of linalg.generic gets an element of each operand.
            generic, place = value.owner.owner.operation, ir.BlockArgument(value).arg_number
            inputs = len(generic.operands) - len(generic.results)
            if generic.name != names.GENERIC or place >= inputs:
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
