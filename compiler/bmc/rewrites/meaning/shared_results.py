"""Copies what a kernel without inputs computes, such as numbers from 0 on, before another one overwrites it.

IREE computes it once more for each kernel that overwrites it, takes both for the same value, and keeps one of them. So
a sort in place changes what others read (docs/upstream/iree-shared-results.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util

_DISPATCH, _RESHAPE, _UPDATE = "flow.dispatch", "flow.tensor.reshape", "flow.tensor.update"


def apply(module: Any, _: object = None) -> None:
    """Gives each kernel that overwrites such a result a copy of its own, unless nobody else reads it."""
    found = [
        op
        for op in ir_util.all_of(module, _DISPATCH)
        if not any(isinstance(each.type, ir.ShapedType) for each in op.operands)
    ]
    # Equal kernels become one, in all initializers too.
    readers = Counter(
        str(op.attributes["entry_points"])
        for op in found
        for result in op.results
        for _ in _uses(result)
    )
    for op in found:
        if readers[str(op.attributes["entry_points"])] < 2:
            continue
        for result in op.results:
            for user, place in list(_uses(result)):
                if _overwrites(user, place):
                    with ir.InsertionPoint(user), user.location:
                        user.operands[place] = _copied(user.operands[place])


def _uses(value: ir_util.Value) -> Iterator[tuple[ir_util.Op, int]]:
    """Yields the readers of a value, also in other shapes, with the place of the operand."""
    for user, place in ir_util.uses(value):
        if user.name == _RESHAPE:
            yield from _uses(user.results[0])
        else:
            yield user, place


def _overwrites(user: ir_util.Op, place: int) -> bool:
    if user.name == _UPDATE:
        return place == 0
    if user.name != _DISPATCH:
        return False
    tied = [ir.IntegerAttr(each).value for each in user.attributes["tied_operands"]]
    before, *_ = ir.DenseI32ArrayAttr(user.attributes["operandSegmentSizes"])
    return place - before in tied


def _copied(value: Any) -> Any:
    """Returns a copy in two parts; IREE would compute a whole one again."""
    shape = list(value.type.shape)
    axis = next((axis for axis, size in enumerate(shape) if size > 1), None)
    if axis is None:
        return value
    kind = value.type.element_type
    copy = build.op("flow.tensor.empty", value.type)
    for start, size in ((0, 1), (1, shape[axis] - 1)):
        starts = [start if each == axis else 0 for each in range(len(shape))]
        sizes = [size if each == axis else 1 for each in range(axis + 1)] + shape[axis + 1 :]
        places, lengths = (
            [build.number(number, ir.IndexType.get()) for number in numbers]
            for numbers in (starts, sizes)
        )
        count = len(shape)
        part = build.op(
            "flow.tensor.slice",
            ir.RankedTensorType.get(sizes, kind),
            *(value, *places, *lengths),
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 0, count, count, 0]),
        )
        copy = build.op(
            _UPDATE,
            value.type,
            *(copy, *places, part),
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 0, count, 1, 0]),
        )
    return copy
