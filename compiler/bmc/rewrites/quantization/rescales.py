"""int8 layers scale their sums in 32 bits.

TOSA scales an integer v by a multiplier m and a shift s in 64 bits: (v * m + rounding) >> s. Both rounding
modes add 2^(s-1), and the double one also 2^30 if v >= 0, else -2^30. RISC-V keeps the upper half of a product
of 32 bits in one instruction, also for vectors, and with |v| < 2^29

    (v * m + k * 2^30) >> s  ==  (upper_half(4v * m) + k) >> (s - 30)

exactly, because the upper half of 4v * m is floor(v * m / 2^30). The range of v is proved from the weights.
A sum that could be larger stays in 64 bits.

Double rounding is two roundings to nearest, (v * m + 2^30) >> 31 and the rest, where a negative v has one less after
the first. RISC-V has an instruction for each, and kernels of bmc's own use them (kernels/rescales.py).

On the way, what is added to each channel before the scaling (the bias, and the input's zero point times the
sum of weights) becomes one constant, and sums of products start from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import arith, build, ir_util, names, offsets
from bmc.ir.elementwise import Elementwise
from bmc.ir.ranges import Ranges

# The largest |v|, exclusive: 4v is an int32.
_LARGEST = 2**29
# The upper half of 4v * m counts units of 2^30.
_UNIT = 30
# With a larger shift, half a unit of the result would not fit into an int32.
_LARGEST_SHIFT = 60
# Up to this shift of an i64, its lowest 32 bits are the same whatever comes in from the left: IREE makes a shift of
# unsigned numbers of such a one.
_SAME_SHIFT = 32


def apply(module: Any, _: object) -> None:
    """Rewrites the scalings whose operands are small enough."""
    for generic in ir_util.all_of(module, names.GENERIC):
        if len(generic.results) != 1:
            continue
        for op in [op for op in ir_util.all_of(generic, "arith.trunci") if _narrows(op)]:
            body = Elementwise(op.parent, module)
            _Scaling(op, body, Ranges(module)).rewrite()
            body.rebuild()


def _narrows(op: ir_util.Op) -> bool:
    types = (str(op.operands[0].type), str(op.results[0].type))
    return types == ("i64", "i32") and bool(list(op.results[0].uses))


@dataclass(frozen=True)
class _Line:
    """An i64 of a body that is factor * v + (positive if v >= 0 else negative).

    Attributes:
      v: an integer of the body of at most 32 bits; None for a constant, whose factor is 0.
      factor, positive, negative: int64, scalars or arrays like the constant operands.
    """

    v: Any
    factor: Array
    positive: Array
    negative: Array


class _Scaling:
    """A line shifted to the right and truncated to 32 bits."""

    def __init__(self, truncation: ir_util.Op, body: Elementwise, ranges: Ranges) -> None:
        self.truncation = truncation
        self.body = body
        self.ranges = ranges
        # A long body may read a value in many places.
        self._lines: dict[Any, _Line | None] = {}

    def rewrite(self) -> None:
        """Rewrites the scaling, or leaves it alone."""
        shifted = ir_util.definition(self.truncation.operands[0])
        if shifted is None or shifted.name not in ("arith.shrsi", "arith.shrui"):
            return
        line = self._line(shifted.operands[0])
        shift = self.body.constant(shifted.operands[1])
        if line is None or line.v is None or shift is None:
            return
        if shifted.name == "arith.shrui" and np.any(shift > _SAME_SHIFT):
            return
        with ir.InsertionPoint(self.truncation), self.truncation.location:
            result = _shifted_left(line, shift)
            if result is None and self._fits(line, shift):
                result = self._upper_half(line, shift)
        if result is not None:
            self.truncation.results[0].replace_all_uses_with(result)

    def _line(self, value: ir_util.Value) -> _Line | None:
        if value not in self._lines:
            self._lines[value] = self._read(value)
        return self._lines[value]

    def _read(self, value: ir_util.Value) -> _Line | None:
        constant = self.body.constant(value)
        if constant is not None:
            return _Line(None, _scalar(0), constant, constant)
        owner = ir_util.definition(value)
        if owner is None:
            return None
        match owner.name:
            case "arith.extsi" | "arith.extui":
                return self._extended(owner)
            case "arith.addi":
                return _added(*map(self._line, owner.operands))
            case "arith.muli":
                return _multiplied(*map(self._line, owner.operands))
            case "arith.select":
                return self._selected(owner)
        return None

    def _extended(self, op: ir_util.Op) -> _Line | None:
        v = op.operands[0]
        unsigned = op.name == "arith.extui" and self.ranges.of(v).low < 0
        if v.type.width > 32 or unsigned:
            return None
        return _Line(v, _scalar(1), _scalar(0), _scalar(0))

    def _selected(self, op: ir_util.Op) -> _Line | None:
        condition, *cases = op.operands
        a, b = map(self._line, cases)
        comparison = ir_util.defined_by(condition, "arith.cmpi")
        if a is None or b is None or comparison is None:
            return None
        known = self.body.constant(condition)
        if known is None:
            return self._signed(comparison, a, b)
        if a.v is not None and b.v is not None and a.v != b.v:
            return None
        pairs = ((a.factor, b.factor), (a.positive, b.positive), (a.negative, b.negative))
        return _Line(a.v or b.v, *(np.where(known, *pair) for pair in pairs))

    def _signed(self, comparison: ir_util.Op, a: _Line, b: _Line) -> _Line | None:
        """Returns the line that is constant `a` where v >= 0, and `b` elsewhere."""
        v, bound = comparison.operands
        zero = self.body.constant(bound)
        is_sign = (
            arith.predicate(comparison) == arith.I_SGE and zero is not None and not np.any(zero)
        )
        if not is_sign or a.v is not None or b.v is not None:
            return None
        return _Line(v, _scalar(0), a.positive, b.negative)

    def _fits(self, line: _Line, shift: Array) -> bool:
        unit = np.int64(1) << _UNIT
        roundings = np.stack(np.broadcast_arrays(line.positive, line.negative))
        below_zero = line.positive - line.negative
        return bool(
            np.all((shift >= _UNIT) & (shift <= _LARGEST_SHIFT))
            and np.all(np.abs(line.factor) < 2**31)
            and np.all(roundings % unit == 0)
            and np.all(np.abs(roundings // unit) < 2**30)
            and np.all((below_zero == below_zero.flat[0]) & (below_zero >= 0))
            and self.ranges.of(line.v).magnitude < _LARGEST
        )

    def _upper_half(self, line: _Line, shift: Array) -> Any:
        """Returns (upper_half(4v * m) + k) >> (s - 30)."""
        below_zero = int((line.positive - line.negative).flat[0]) >> _UNIT
        constant = line.positive >> _UNIT
        rest = shift - _UNIT
        # What a negative v gives without its own rounding.
        largest = int(np.max((constant - 1) >> rest))
        needs_sign = self.ranges.of(line.v).low < 0 and not _is_clamped(self.truncation, largest)
        v = _widened(self._with_offsets(line.v))
        result = self._product(v, line.factor)
        half = np.int64(1) << rest >> 1
        if below_zero == 2 and np.all((rest > 1) & (constant == half + 1)):
            # (v * m + 2^30) >> 31, of which a negative one is too large by one.
            result = self._rounded(result, _scalar(1))
            if needs_sign:
                result = build.same("arith.addi", result, self._sign(v))
            return self._rounded(result, rest - 1)
        if not below_zero and np.all((rest > 0) & (constant == half)):
            return self._rounded(result, rest)
        if below_zero and needs_sign:
            less = build.same("arith.muli", self._sign(v), self.body.add(_scalar(below_zero)))
            result = build.same("arith.addi", result, less)
        if np.any(constant):
            result = build.same("arith.addi", result, self.body.add(constant))
        return build.same("arith.shrsi", result, self.body.add(rest)) if np.any(rest) else result

    def _sign(self, v: Any) -> Any:
        """Returns -1 where v is negative, 0 elsewhere."""
        return build.same("arith.shrsi", v, self.body.add(_scalar(31)))

    def _rounded(self, x: Any, shift: Array) -> Any:
        """Returns (x + (2^s >> 1)) >> s, which kernels/rescales.py reads."""
        amount = self.body.add(shift)
        if np.all(shift == shift.flat[0]):
            half = self.body.add(np.int64(1) << shift >> 1)
        else:
            # Not one more operand with a number for each channel.
            one = self.body.add(_scalar(1))
            half = build.same("arith.shrui", build.same("arith.shli", one, amount), one)
        return build.same("arith.shrsi", arith.exact("arith.addi", x, half), amount)

    def _product(self, v: Any, factor: Array) -> Any:
        """Returns the upper half of 4v * m."""
        i64 = ir.IntegerType.get_signless(64)
        four = arith.exact("arith.shli", v, self.body.add(_scalar(2)))
        wide = [build.op("arith.extsi", i64, each) for each in (four, self.body.add(factor))]
        bits = build.number(32, i64)
        upper = build.same("arith.shrsi", build.same("arith.muli", *wide), bits)
        return build.op("arith.trunci", v.type, upper)

    def _with_offsets(self, v: Any) -> Any:
        """Returns `v`, computed from the sum before anything was added to its channels."""
        number = self.body.operand(v)
        if number is None or not self.body.is_in_order(number):
            return v
        offset = offsets.find(self.body.op.operands[number], self.body.module)
        map_ = self.body.constant_map
        if offset is None or (map_ is not None and map_ != offset.map):
            return v
        self.body.op.operands[number] = offset.sums
        for addition in offset.additions:
            if not ir_util.uses(addition.results[0]):
                addition.erase()
        if offsets.start_from(offset):
            return v
        self.body.constant_map = offset.map
        with ir.InsertionPoint.at_block_begin(self.truncation.block):
            total = build.same("arith.addi", v, self.body.add(offset.constant))
        v.replace_all_uses_except(total, total.owner.operation)
        return total


def _is_clamped(value: ir_util.Op, largest: int) -> bool:
    """Whether nobody can tell numbers up to `largest` apart in the result: all become the same by a maximum.

    So it is for a ReLU, whose zero is the smallest int8.
    """
    shift = 0
    while len(readers := ir_util.uses(value.results[0])) == 1:
        reader, _ = readers[0]
        bound = ir_util.constant(reader.operands[1]) if len(reader.operands) == 2 else None
        if bound is None or reader.name not in ("arith.addi", "arith.maxsi"):
            return False
        if reader.name == "arith.maxsi":
            return largest + shift <= bound
        value, shift = reader, shift + bound
    return False


def _shifted_left(line: _Line, shift: Array) -> Any:
    """Returns v if the line is v * 2^s + r with 0 <= r < 2^s, v << n if it is (v << n) * 2^s + r; else None."""
    unit = np.int64(1) << shift
    whole = (line.factor % unit == 0) & (line.positive == line.negative)
    factor = line.factor >> shift
    if not np.all(whole & (line.positive >= 0) & (line.positive < unit)) or factor.ndim:
        return None
    bits = int(factor).bit_length() - 1
    if not 0 <= bits < 32 or factor != 1 << bits:
        return None
    v = _widened(line.v)
    amount = build.number(bits, v.type)
    return build.same("arith.shli", v, amount) if bits else v


def _scalar(number: int) -> Array:
    return np.array(number, np.int64)


def _widened(v: Any) -> Any:
    i32 = ir.IntegerType.get_signless(32)
    return v if v.type == i32 else build.op("arith.extsi", i32, v)


def _added(a: _Line | None, b: _Line | None) -> _Line | None:
    if a is None or b is None or (a.v is not None and b.v is not None and a.v != b.v):
        return None
    return _Line(a.v or b.v, a.factor + b.factor, a.positive + b.positive, a.negative + b.negative)


def _multiplied(a: _Line | None, b: _Line | None) -> _Line | None:
    if a is None or b is None or (a.v is not None and b.v is not None):
        return None
    line, by = (a, b) if b.v is None else (b, a)
    return _Line(
        line.v, line.factor * by.positive, line.positive * by.positive, line.negative * by.positive
    )
