"""How large the integers of a model can become, whatever its inputs.

Weights are constants and an int8 is an int8, so the sum of a convolution has bounds that are known when the
model is compiled.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc.ir import constant_arrays, ir_util, names

# These only move elements of their first operand.
_MOVES = (
    names.BARRIER,
    names.BROADCAST,
    names.TRANSPOSE,
    "stablehlo.broadcast_in_dim",
    "stablehlo.reshape",
    "stablehlo.reverse",
    "stablehlo.slice",
    "stablehlo.transpose",
    names.CAST,
    names.COLLAPSE_SHAPE,
    names.EXPAND_SHAPE,
    names.EXTRACT_SLICE,
)
# How far back a value is followed. A model of int16 is one long chain; what scales the sums of a layer lies within it.
_MOST_STEPS = 128
_DYNAMIC = ir.ShapedType.get_dynamic_size()
# The elements of these are those of their operands.
_HULLS = ("stablehlo.concatenate", names.CONCAT, "tosa.concat")


@dataclass(frozen=True, slots=True)
class Range:
    """All integers from `low` to `high`."""

    low: int
    high: int

    def hull(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Range) -> Range:
        return Range(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Range) -> Range:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Range(min(ends), max(ends))

    @property
    def magnitude(self) -> int:
        return max(-self.low, self.high)


@dataclass
class Ranges:
    """The ranges of a module's values, computed when asked for.

    Signless integers count as signed. A value that wraps around can be anything of its type.
    """

    module: Any
    _known: dict[Any, Range] = field(default_factory=dict)
    _depth: int = 0

    def of(self, value: ir_util.Value) -> Range:
        """Returns a range that holds `value`, an integer, or every element of it, a tensor of integers."""
        if value not in self._known:
            everything = _of_type(value.type)
            if self._depth == _MOST_STEPS:
                return everything
            self._depth += 1
            computed = self._compute(value, everything)
            self._depth -= 1
            fits = everything.low <= computed.low and computed.high <= everything.high
            self._known[value] = computed if fits else everything
        return self._known[value]

    def _compute(self, value: ir_util.Value, everything: Range) -> Range:
        is_tensor = isinstance(value.type, ir.RankedTensorType)
        if is_tensor and everything.high <= 127:
            # Most of them use all of their type. To look no further keeps the search within a layer.
            return everything
        constant = constant_arrays.integers(value, self.module)
        if constant is not None:
            return Range(int(constant.min()), int(constant.max())) if constant.size else everything
        if isinstance(value.type, ir.IndexType) and (number := ir_util.constant(value)) is not None:
            return Range(number, number)
        owner = ir_util.definition(value)
        if owner is None:
            return self._argument(value, value.owner, everything)
        if is_tensor:
            return self._tensor(owner, everything)
        return self._scalar(owner, everything)

    def _argument(self, value: ir_util.Value, block: Any, everything: Range) -> Range:
        """The range of an argument of a linalg body: that of its operand."""
        op = block.owner.operation
        if not op.name.startswith("linalg."):
            return everything
        number = list(block.arguments).index(value)
        result = len(block.arguments) - len(op.results)
        return self.of(op.operands[number]) if number < result else everything

    def _tensor(self, op: ir_util.Op, everything: Range) -> Range:
        if op.name in _MOVES:
            return self.of(op.operands[0])
        if op.name == names.PAD:
            (padding,) = op.regions[0].blocks[0].operations[-1].operands
            return self.of(op.operands[0]).hull(self.of(padding))
        if op.name == names.INSERT_SLICE:
            return self.of(op.operands[0]).hull(self.of(op.operands[1]))
        if op.name == names.FILL:
            return self.of(op.operands[0])
        if op.name in _HULLS:
            return functools.reduce(Range.hull, map(self.of, op.operands))
        if op.name.startswith("stablehlo."):
            return self._elementwise(op, everything)
        if op.name.startswith("linalg.") and len(op.results) == 1 and len(op.regions) == 1:
            return self._structured(op, everything)
        return everything

    def _elementwise(self, op: ir_util.Op, everything: Range) -> Range:
        """The range of one of StableHLO's operations on tensors, element by element."""
        if op.name == "stablehlo.iota":
            axis = ir.IntegerAttr(op.attributes["iota_dimension"]).value
            return _counted(op.results[0].type.shape[axis], everything)
        if op.name == "stablehlo.convert" and _is_truth(op.operands[0].type):
            return Range(0, 1)
        operands = [
            self.of(operand) for operand in op.operands if _is_integer(operand.type.element_type)
        ]
        match op.name, operands:
            case "stablehlo.clamp", [low, x, high]:
                return _least(_most(x, low), high)
            case "stablehlo.select", [_, a, b]:
                return a.hull(b)
            case "stablehlo.convert", [a]:
                return a
            case _, [a, b] if op.name in _STABLEHLO:
                return _STABLEHLO[op.name](a, b)
        return everything

    def _structured(self, op: ir_util.Op, everything: Range) -> Range:
        block = op.regions[0].blocks[0]
        (yielded,) = block.operations[-1].operands
        steps = reduction_steps(op)
        if steps == 1:
            return self.of(yielded)
        owner = ir_util.definition(yielded)
        output = block.arguments[len(block.arguments) - 1]
        if steps is None or owner is None or owner.name != "arith.addi":
            return everything
        terms = [operand for operand in owner.operands if operand != output]
        if len(terms) != 1:
            return everything
        term = self.of(terms[0])
        return self.of(op.operands[len(op.operands) - 1]) + term * Range(steps, steps)

    def _scalar(self, op: ir_util.Op, everything: Range) -> Range:
        if op.name == names.INDEX:
            axis = ir.IntegerAttr(op.attributes["dim"]).value
            return _counted(_extents(op.parent.operation).get(axis, _DYNAMIC), everything)
        if op.name == names.EXTRACT:
            return self.of(op.operands[0])
        operands = [self.of(operand) for operand in op.operands if _is_integer(operand.type)]
        match op.name, operands:
            case _, [a, b] if op.name in _ARITH:
                return _ARITH[op.name](a, b)
            case (("arith.extsi" | "arith.trunci" | "arith.index_cast"), [a]):
                return a
            case (("arith.remsi" | "arith.remui"), [a, b]) if a.low >= 0 and b.low > 0:
                return Range(0, min(a.high, b.high - 1))
            case "arith.extui", [a]:
                return a if a.low >= 0 else Range(0, 2 ** op.operands[0].type.width - 1)
            case "arith.shrsi", [a, b] if b.low == b.high and 0 <= b.low < 64:
                return Range(a.low >> b.low, a.high >> b.low)
            case "arith.shli", [a, b] if b.low == b.high and 0 <= b.low < 64:
                return Range(a.low << b.low, a.high << b.low)
            case "arith.select", [_, a, b]:
                return a.hull(b)
        return everything


def reduction_steps(op: ir_util.Op) -> int | None:
    """Returns how many elements of its inputs a linalg op adds up for one of its result; None if unknown."""
    indexing = [each.value for each in linalg.get_indexing_maps(op)]
    kept = {each.position for each in indexing[-1].results if isinstance(each, ir.AffineDimExpr)}
    extents = _extents(op)
    reduced = set(range(indexing[0].n_dims)) - kept
    if not reduced <= extents.keys():
        return None
    return math.prod(extents[loop] for loop in reduced)


def _extents(op: ir_util.Op) -> dict[int, int]:
    """Returns how often each loop of a linalg op runs, where an operand says so."""
    extents: dict[int, int] = {}
    for operand, map_ in zip(op.operands, linalg.get_indexing_maps(op), strict=True):
        for axis, index in enumerate(map_.value.results):
            if isinstance(index, ir.AffineDimExpr):
                extents[index.position] = operand.type.shape[axis]
    return extents


def _counted(extent: int, everything: Range) -> Range:
    """The range of what counts along an axis, whose extent may be dynamic."""
    return everything if extent == _DYNAMIC else Range(0, max(extent - 1, 0))


def _is_truth(type_: Any) -> bool:
    """Whether elements are of one bit: StableHLO's true is 1, where other integers have their sign."""
    return isinstance(type_.element_type, ir.IntegerType) and type_.element_type.width == 1


def _most(a: Range, b: Range) -> Range:
    return Range(max(a.low, b.low), max(a.high, b.high))


def _least(a: Range, b: Range) -> Range:
    return Range(min(a.low, b.low), min(a.high, b.high))


# Operations of two integers, and what they do to ranges.
_ARITH: dict[str, Callable[[Range, Range], Range]] = {
    "arith.addi": operator.add,
    "arith.maxsi": _most,
    "arith.minsi": _least,
    "arith.muli": operator.mul,
    "arith.subi": operator.sub,
}
_STABLEHLO: dict[str, Callable[[Range, Range], Range]] = {
    "stablehlo.add": operator.add,
    "stablehlo.maximum": _most,
    "stablehlo.minimum": _least,
    "stablehlo.multiply": operator.mul,
    "stablehlo.subtract": operator.sub,
}


def _is_integer(type_: Any) -> bool:
    return isinstance(type_, (ir.IntegerType, ir.IndexType))


def _of_type(type_: Any) -> Range:
    element = type_.element_type if isinstance(type_, ir.RankedTensorType) else type_
    width = 64 if isinstance(element, ir.IndexType) else element.width
    if not isinstance(element, ir.IndexType) and element.is_unsigned:
        return Range(0, 2**width - 1)
    return Range(-(2 ** (width - 1)), 2 ** (width - 1) - 1)
