"""Makes scatters of rows or single elements of those that IREE has no form for.

IREE scatters along the first dimensions of a tensor, and what an index writes is whole along all others. So here the
other indexed dimensions become the first ones. Along dimensions of which an index writes a part of another size, each
element of it gets an index of its own, and so do the batches that a tensor has in common with its indices.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import build, ir_util, stablehlo


@dataclass(frozen=True)
class _Scatter:
    """A scatter's dimensions.

    Attributes:
      points: the dimensions of the tensor that an element needs an index for.
      rows: the others, of which each index writes all.
      parts: for each dimension of `points`, which part of an index is for it, None for none.
      batches: for each of them, the dimension of the indices that counts along with it, None for none.
      windows: dimension of the updates for each dimension of the tensor that has one.
      vector: the dimension of the indices that has the parts of an index.
    """

    points: list[int]
    rows: list[int]
    parts: list[int | None]
    batches: list[int | None]
    windows: dict[int, int]
    vector: int


def apply(module: Any, _: object = None) -> None:
    """Rewrites such scatters. All indices must lie inside of the tensor."""
    for op in ir_util.all_of(module, "stablehlo.scatter"):
        found = _read(op)
        if found is not None:
            with ir.InsertionPoint(op), op.location:
                _rewrite(op, found)
            op.erase()


def _read(op: ir_util.Op) -> _Scatter | None:
    """Returns the dimensions of a scatter, None if IREE has a form for it."""
    numbers = stablehlo.dimension_numbers(op, "scatter_dimension_numbers")
    count = len(op.results)
    shape, updates = op.operands[0].type.shape, op.operands[count + 1].type.shape
    indexed = numbers.get("scatter_dims_to_operand_dims", [])
    batching = numbers.get("input_batching_dims", [])
    missing = [*numbers.get("inserted_window_dims", []), *batching]
    places = iter(numbers.get("update_window_dims", []))
    windows = {axis: next(places) for axis in range(len(shape)) if axis not in missing}
    partial = [axis for axis, place in windows.items() if updates[place] != shape[axis]]
    ones = all(axis not in windows or updates[windows[axis]] == 1 for axis in indexed)
    # IREE gives batches indices itself.
    first = sorted([*indexed, *batching])
    if first and first == list(range(len(first))) and {*partial} <= {*first} and ones:
        return None
    points = sorted({*indexed, *missing, *partial})
    if not points:
        return None
    counting = dict(zip(batching, numbers.get("scatter_indices_batching_dims", []), strict=True))
    return _Scatter(
        points,
        [axis for axis in range(len(shape)) if axis not in points],
        [indexed.index(axis) if axis in indexed else None for axis in points],
        [counting.get(axis) for axis in points],
        windows,
        *numbers.get("index_vector_dim", [0]),
    )


def _rewrite(op: ir_util.Op, found: _Scatter) -> None:
    count = len(op.results)
    wholes, indices = list(op.operands)[:count], op.operands[count]
    updates = list(op.operands)[count + 1 :]
    # The updates' own dimensions come first, then those of windows that become points, then rows.
    own = [axis for axis in range(updates[0].type.rank) if axis not in found.windows.values()]
    inner = [found.windows[axis] for axis in found.points if axis in found.windows]
    last = [found.windows[axis] for axis in found.rows]
    extents = [updates[0].type.shape[axis] for axis in (*own, *inner)]
    order = [*found.points, *found.rows]
    number = math.prod(extents)
    turned = [_transposed(value, order) for value in wholes]
    rows = turned[0].type.shape[len(found.points) :]
    points = [
        _reshaped(_transposed(each, [*own, *inner, *last]), [number, *rows]) for each in updates
    ]
    new = build.again(
        op,
        [value.type for value in turned],
        [*turned, _points(indices, found, extents, len(own), inner), *points],
        scatter_dimension_numbers=_numbers(len(found.points), len(rows)),
        # Windows may overlap where their first indices differ.
        unique_indices=ir.BoolAttr.get(False),
        indices_are_sorted=ir.BoolAttr.get(False),
    )
    op.regions[0].blocks[0].append_to(new.regions[0])
    back = [order.index(axis) for axis in range(len(order))]
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(_transposed(result, back))


def _points(indices: Any, found: _Scatter, extents: list[int], own: int, inner: list[int]) -> Any:
    """Returns the indices of all points, [points, dimensions].

    Args:
      indices: the scatter's.
      found: its dimensions.
      extents: the extents of what is counted: of the updates' own dimensions, and of windows that become points.
      own: how many the first are.
      inner: the dimensions of the updates that the second are.
    """
    if indices.type.element_type.width < 32 or indices.type.element_type.is_unsigned:
        kind = ir.RankedTensorType.get(indices.type.shape, ir.IntegerType.get_signless(32))
        indices = build.op("stablehlo.convert", kind, indices)
    if found.vector == indices.type.rank:
        indices = _reshaped(indices, [*indices.type.shape, 1])
    element = indices.type.element_type
    kind = ir.RankedTensorType.get(extents, element)
    parts = stablehlo.parts(indices, found.vector)
    columns = []
    for axis, part, batch in zip(found.points, found.parts, found.batches, strict=True):
        terms = []
        if part is not None:
            dropped = _reshaped(parts[part], extents[:own])
            terms.append(stablehlo.broadcast(dropped, kind, list(range(own))))
        if batch is not None:
            terms.append(_counted(kind, batch - (batch > found.vector)))
        if axis in found.windows:
            terms.append(_counted(kind, own + inner.index(found.windows[axis])))
        zero = stablehlo.constant(np.zeros(extents, np.int64), kind)
        column = functools.reduce(lambda a, b: build.same("stablehlo.add", a, b), terms or [zero])
        columns.append(_reshaped(column, [math.prod(extents), 1]))
    if len(columns) == 1:
        return columns[0]
    joined = ir.RankedTensorType.get([math.prod(extents), len(columns)], element)
    one = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)
    return build.op("stablehlo.concatenate", joined, *columns, dimension=one)


def _counted(kind: Any, axis: int) -> Any:
    """Returns a tensor of each element's number along an axis."""
    numbers: Array = np.arange(kind.shape[axis]).reshape(
        [-1 if each == axis else 1 for each in range(kind.rank)]
    )
    return stablehlo.constant(np.broadcast_to(numbers, kind.shape), kind)


def _numbers(points: int, rows: int) -> Any:
    axes = ", ".join(map(str, range(points)))
    windows = ", ".join(str(1 + row) for row in range(rows))
    return ir.Attribute.parse(
        f"#stablehlo.scatter<update_window_dims = [{windows}], inserted_window_dims = [{axes}],"
        f" scatter_dims_to_operand_dims = [{axes}], index_vector_dim = 1>"
    )


def _transposed(value: Any, order: list[int]) -> Any:
    if order == sorted(order):
        return value
    shape = [value.type.shape[axis] for axis in order]
    kind = ir.RankedTensorType.get(shape, value.type.element_type)
    return build.op("stablehlo.transpose", kind, value, permutation=ir.DenseI64ArrayAttr.get(order))


def _reshaped(value: Any, shape: list[int]) -> Any:
    if list(value.type.shape) == list(shape):
        return value
    kind = ir.RankedTensorType.get(list(shape), value.type.element_type)
    return build.op("stablehlo.reshape", kind, value)
