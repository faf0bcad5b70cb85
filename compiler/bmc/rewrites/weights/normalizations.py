"""Makes the factors of a batch normalization part of the weights of the convolution before it.

A batch normalization is (y - mean) * scale * gamma + beta, with one constant of each kind for every channel. Multiplied
weights leave one addition of all that, and the constants of two branches that are added fit into one kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util

_STEPS = ("stablehlo.add", "stablehlo.subtract", "stablehlo.multiply", "stablehlo.divide")
_FACTORS = _STEPS[2:]


@dataclass(frozen=True, slots=True)
class _Step:
    """An operation on a result and a constant.

    Attributes:
      op: the operation.
      place: the operand that is the result: 0 or 1.
      constant: the constant, of one element or of one for every channel.
    """

    op: ir_util.Op
    place: int
    constant: ir_util.Value


def apply(module: Any, _: object) -> None:
    """Rewrites the convolutions of f32 that are multiplied by constants."""
    constants = ir_util.constant_expressions(module)
    for op in ir_util.all_of(module, "stablehlo.convolution"):
        weights = op.operands[1]
        if str(op.results[0].type.element_type) != "f32" or len(ir_util.uses(weights)) != 1:
            continue
        if ir_util.definition(weights) not in constants:
            continue
        channels = _axis("f", "->[", op)
        steps = _steps(op.results[0], channels, constants)
        if any(step.op.name in _FACTORS for step in steps):
            _multiply(op, steps, channels)


def _axis(name: str, before: str, convolution: ir_util.Op) -> int:
    """Returns which axis has this name in the list that begins with `before`, as in [b, f, 0]x[o, i, 0]->[b, f, 0]."""
    numbers = str(convolution.attributes["dimension_numbers"])
    return numbers.partition(before)[2].partition("]")[0].split(", ").index(name)


def _steps(result: ir_util.Value, channels: int, constants: set[ir_util.Op]) -> list[_Step]:
    """Returns the operations with constants behind a convolution, as far as nothing else reads what is between them."""
    steps: list[_Step] = []
    while len(found := ir_util.uses(result)) == 1:
        ((op, place),) = found
        if op.name not in _STEPS or (op.name, place) == ("stablehlo.divide", 1):
            break
        constant = _per_channel(op.operands[1 - place], channels, constants)
        if constant is None:
            break
        steps.append(_Step(op, place, constant))
        result = op.results[0]
    return steps


def _per_channel(
    value: ir_util.Value, channels: int, constants: set[ir_util.Op]
) -> ir_util.Value | None:
    """Returns the constant that `value` repeats along all axes but `channels`, None if it is no such value."""
    op = ir_util.definition(value)
    if op is None or op not in constants or op.name != "stablehlo.broadcast_in_dim":
        return None
    source = op.operands[0]
    axes = ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"])
    lengths = source.type.shape
    alike = all(n == 1 or axis == channels for n, axis in zip(lengths, axes, strict=True))
    return source if alike else None


def _multiply(convolution: ir_util.Op, steps: list[_Step], channels: int) -> None:
    """Puts a convolution with other weights and one addition in place of the last of `steps`."""
    weights, result = convolution.operands[1], convolution.results[0]
    kind = ir.RankedTensorType.get([result.type.shape[channels]], result.type.element_type)
    last = steps[-1].op
    with ir.InsertionPoint(last), last.location:
        factor, offset = _splat(kind, 1), _splat(kind, 0)
        for step in steps:
            constant = _vector(step.constant, kind)
            sides = (offset, constant) if step.place == 0 else (constant, offset)
            offset = build.op(step.op.name, kind, *sides)
            if step.op.name in _FACTORS:
                factor = build.op(step.op.name, kind, factor, constant)
            elif (step.op.name, step.place) == ("stablehlo.subtract", 1):
                factor = build.op("stablehlo.negate", kind, factor)
        factors = _repeated(factor, weights.type, _axis("o", "]x[", convolution))
        product = build.op("stablehlo.multiply", weights.type, weights, factors)
        sums = convolution.clone()
        sums.operands[1] = product
        added = _repeated(offset, result.type, channels)
        total = build.op("stablehlo.add", result.type, sums.results[0], added)
    last.results[0].replace_all_uses_with(total)
    for op in (*(step.op for step in reversed(steps)), convolution):
        op.erase()


def _splat(kind: Any, number: int) -> ir_util.Value:
    value = ir.Attribute.parse(f"dense<{number}.0> : {kind}")
    return build.op("stablehlo.constant", kind, value=value)


def _vector(constant: ir_util.Value, kind: Any) -> ir_util.Value:
    """Returns a constant of one element, or of one for every channel, as a vector."""
    if list(constant.type.shape) == list(kind.shape):
        return constant
    flat = ir.RankedTensorType.get([math.prod(constant.type.shape)], kind.element_type)
    row = build.op("stablehlo.reshape", flat, constant)
    return row if flat == kind else _repeated(row, kind, 0)


def _repeated(row: ir_util.Value, kind: Any, axis: int) -> ir_util.Value:
    axes = ir.DenseI64ArrayAttr.get([axis])
    return build.op("stablehlo.broadcast_in_dim", kind, row, broadcast_dimensions=axes)
