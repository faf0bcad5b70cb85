"""Scales sums of int8 products by one factor and one offset for each channel.

IREE computes (sum - zero points) * scale of the image * scale of the weights + bias, and quantizes that, which divides
by a third scale. What is between the sums and the division is a factor and an offset, so they become two constants;
they are as exact as PyTorch's own order of operations. A division of limits moves it before a ReLU as well. Sums start
from their zero points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import build, constant_arrays, ir_util, names, offsets, permute

_CONVERT = "arith.sitofp"
_LINEAR = ("arith.addf", "arith.mulf", "arith.subf")
# What gives f(x / s) = f(x) / s for a positive s, if constants are divided as well.
_LIMITS = (
    "arith.cmpf",
    "arith.maximumf",
    "arith.maxnumf",
    "arith.minimumf",
    "arith.minnumf",
    "arith.select",
)


def apply(module: Any, _: object) -> None:
    """Rewrites what is computed from sums of int8 products."""
    found = []
    for op in ir_util.all_of(module, names.GENERIC):
        converted = [each for each in ir_util.walk(op) if each.name == _CONVERT]
        if len(op.results) == 1 and len(converted) == 1 and _is_in_order(op, -1):
            found.append(_Scaling(op, converted[0], module))
    # Only now, as this erases operations; none of those converts a sum.
    for scaling in found:
        scaling.rewrite()


@dataclass(frozen=True)
class _Line:
    """factor * x + offset, where x is a converted sum; the arrays are f64, scalars or one number for each channel."""

    factor: Array
    offset: Array


class _Scaling:
    """What follows the operation `op`, in which `converted` makes floats of sums."""

    def __init__(self, op: ir_util.Op, converted: ir_util.Op, module: Any) -> None:
        self._first = op
        self._converted = converted
        self._module = module
        # Selects a constant's element for each element of the sums.
        self._map: Any = None

    def rewrite(self) -> None:
        """Rewrites the operations, or leaves them alone."""
        sums = self._sums()
        one, none = np.ones((), np.float64), np.zeros((), np.float64)
        line = self._line(self._first, {self._converted.results[0]: _Line(one, none)})
        if sums is None or line is None:
            return
        chain = [self._first]
        while (reader := _only_reader(chain[-1])) is not None:
            op, place = reader
            argument = op.regions[0].blocks[0].arguments[place] if op.regions else None
            more = None
            if op.name == names.GENERIC and _is_in_order(op, place) and _is_in_order(op, -1):
                more = self._line(op, {argument: line})
            if more is None:
                break
            line = more
            chain.append(op)
        limits, quantization = _quantization(chain[-1])
        scale = None if quantization is None else self._scale(quantization)
        if quantization is not None and scale is not None:
            line = _Line(line.factor / scale, line.offset / scale)
            with ir.InsertionPoint(quantization), quantization.location:
                quantization.operands[1] = build.number(1.0, ir.F32Type.get())
            if limits is not None:
                _divide(limits, scale)
        self._replace(chain, sums, line)

    def _sums(self) -> tuple[int, Array] | None:
        """Returns which operand is converted, and what is added to it before."""
        value = self._converted.operands[0]
        offset = np.zeros((), np.int64)
        owner = ir_util.definition(value)
        if owner is not None and owner.name == "arith.subi":
            constant = self._constant(self._first, owner.operands[1])
            if constant is None:
                return None
            value, offset = owner.operands[0], -constant.astype(np.int64)
        arguments = list(self._first.regions[0].blocks[0].arguments)[:-1]
        if value not in arguments or str(value.type) != "i32":
            return None
        place = arguments.index(value)
        return (place, offset) if _is_in_order(self._first, place) else None

    def _line(self, op: ir_util.Op, known: dict[Any, _Line]) -> _Line | None:
        """Returns what the body of `op` computes from what is known."""
        *_, end = op.regions[0].blocks[0].operations
        return self._value(op, end.operands[0], known)

    def _value(self, op: ir_util.Op, value: Any, known: dict[Any, _Line]) -> _Line | None:
        if value in known:
            return known[value]
        owner = ir_util.definition(value)
        if owner is None or owner.name not in _LINEAR:
            return None
        left, right = (self._value(op, each, known) for each in owner.operands)
        line = left or right
        if line is None or (left is not None and right is not None):
            return None
        number = self._constant(op, owner.operands[1 if left is not None else 0])
        if number is None:
            return None
        constant = number.astype(np.float64)
        if owner.name == "arith.mulf":
            return _Line(line.factor * constant, line.offset * constant)
        if owner.name == "arith.addf":
            return _Line(line.factor, line.offset + constant)
        if right is None:
            return _Line(line.factor, line.offset - constant)
        return _Line(-line.factor, constant - line.offset)

    def _constant(self, op: ir_util.Op, value: Any) -> Array | None:
        """Returns a constant of a body: one number, or one for each channel."""
        arguments = list(op.regions[0].blocks[0].arguments)[:-1]
        if value not in arguments:
            return constant_arrays.numbers(value, self._module)
        place = arguments.index(value)
        operand, map_ = op.operands[place], permute.maps(op)[place]
        repeated = ir_util.definition(operand)
        if repeated is not None and repeated.name == names.GENERIC and _is_copy(repeated):
            if not _is_in_order(op, place) or not _is_in_order(repeated, -1):
                return None
            operand, map_ = repeated.operands[0], permute.maps(repeated)[0]
        elements = constant_arrays.numbers(operand, self._module)
        if elements is None or elements.size == 1:
            return None if elements is None else elements.reshape(())
        if self._map is not None and self._map != map_:
            return None
        self._map = map_
        return elements

    def _scale(self, quantization: ir_util.Op) -> Array | None:
        scale = constant_arrays.numbers(quantization.operands[1], self._module)
        return scale if scale is not None and scale.size == 1 and np.all(scale > 0) else None

    def _replace(self, chain: list[ir_util.Op], sums: tuple[int, Array], line: _Line) -> None:
        place, offset = sums
        tensor = self._first.operands[place]
        last = chain[-1]
        *_, output = last.operands
        type_ = last.results[0].type
        identity = ir.AffineMap.get_identity(type_.rank)
        inputs, maps = [tensor], [identity]
        if np.any(offset) and offset.ndim:
            found = offsets.Offset(tensor, offset, self._map, ())
            if len(ir_util.uses(tensor)) == 1 and offsets.start_from(found):
                offset = np.zeros((), np.int64)
        with ir.InsertionPoint(last), last.location:
            steps: list[tuple[str, Any]] = []
            for name, array, dtype in (
                ("arith.addi", offset, np.int32),
                ("arith.mulf", line.factor, np.float32),
                ("arith.addf", line.offset, np.float32),
            ):
                narrow = np.asarray(array).astype(dtype)
                neutral = 1 if name == "arith.mulf" else 0
                if np.all(narrow == neutral):
                    steps.append((name, None))
                elif np.all(narrow == narrow.flat[0]):
                    steps.append((name, narrow.flat[0]))
                else:
                    steps.append((name, len(inputs)))
                    inputs.append(build.array(narrow))
                    maps.append(self._map)
            maps.append(identity)

            def compute(value: Any, *others: Any) -> Any:
                for name, number in steps:
                    if name == "arith.mulf":
                        value = build.op(_CONVERT, type_.element_type, value)
                    if number is None:
                        continue
                    other = (
                        others[number - 1]
                        if isinstance(number, int)
                        else build.number(number, value.type)
                    )
                    value = build.same(name, value, other)
                return value

            new = build.elementwise(inputs, output, maps, compute)
        last.results[0].replace_all_uses_with(new)
        for op in reversed(chain):
            op.erase()


def _is_in_order(op: ir_util.Op, place: int) -> bool:
    """Whether the loops of `op` count up the axes of an operand, and nothing is summed; -1 is the result."""
    map_ = permute.maps(op)[place]
    return bool(map_ == ir.AffineMap.get_identity(map_.n_dims))


def _is_copy(op: ir_util.Op) -> bool:
    """Whether an operation only repeats what it reads."""
    operations = list(op.regions[0].blocks[0].operations)
    arguments = op.regions[0].blocks[0].arguments
    return (
        len(op.operands) == 2 and len(operations) == 1 and operations[0].operands[0] == arguments[0]
    )


def _only_reader(op: ir_util.Op) -> tuple[ir_util.Op, int] | None:
    readers = ir_util.uses(op.results[0])
    return readers[0] if len(readers) == 1 and len(readers[0][0].results) == 1 else None


def _quantization(op: ir_util.Op) -> tuple[ir_util.Op | None, ir_util.Op | None]:
    """Returns what quantizes the result of `op` with one scale, and the limits before it, as a ReLU's; None if none."""
    reader = _only_reader(op)
    limits = None
    if reader is not None and reader[0].name == names.GENERIC and _is_limit(*reader):
        limits = reader[0]
        reader = _only_reader(limits)
    if reader is None or reader[0].name != names.QUANTIZE or reader[1] != 0:
        return None, None
    maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(reader[0].attributes["indexing_maps"])]
    return (None, None) if any(map_.results for map_ in maps[1:-1]) else (limits, reader[0])


def _is_limit(op: ir_util.Op, place: int) -> bool:
    """Whether an operation on one tensor only compares its elements with constants and chooses."""
    *body, end = [each.operation for each in op.regions[0].blocks[0].operations]
    known = {op.regions[0].blocks[0].arguments[place], *(each.results[0] for each in body)}
    values = [value for each in (*body, end) for value in each.operands]
    return (
        len(op.operands) == 2
        and _is_in_order(op, place)
        and _is_in_order(op, -1)
        and all(each.name in _LIMITS for each in body)
        and all(value in known or ir_util.float_constant(value) is not None for value in values)
    )


def _divide(limits: ir_util.Op, scale: Array) -> None:
    """Divides the constants of limits."""
    for op in limits.regions[0].blocks[0].operations:
        for place, value in enumerate(op.operands):
            number = ir_util.float_constant(value)
            if number is not None:
                with ir.InsertionPoint(op), op.operation.location:
                    op.operation.operands[place] = build.number(float(number / scale), value.type)
