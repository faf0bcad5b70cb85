"""Keeps every access that depends on data inside its tensor.

IREE reads and writes wherever an index points, and beside a tensor are other tensors, or no memory at all. Here an
index that is not known to lie inside is clamped, as StableHLO demands of reads. A write that StableHLO would not make
goes to a row that is added for it and cut off again. What frameworks raise an error for may give any result. IREE
itself clamps where StableHLO's slices begin.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import build, ir_util, names, stablehlo
from bmc.ir.ranges import Ranges

_DYNAMIC = ir.ShapedType.get_dynamic_size()
# Slices of StableHLO, and the first of their operands that says where one starts.
_STARTS = {"stablehlo.dynamic_slice": 1, "stablehlo.dynamic_update_slice": 2}


def apply(module: Any, _: object = None) -> None:
    """Rewrites operations that read or write at computed indices."""
    ranges = Ranges(module)
    # All ranges come first: what they are cached by may be erased.
    changes = [
        change
        for op in ir_util.walk(module.operation)
        if op.name in _FINDERS
        for change in _FINDERS[op.name](op, ranges)
    ]
    for change in changes:
        change()
    for op in ir_util.all_of(module, "stablehlo.scatter"):
        _narrow(op)
    for name, first in _STARTS.items():
        for op in ir_util.all_of(module, name):
            _widen(op, first)


def _widen(op: ir_util.Op, first: int) -> None:
    """Gives a slice starts of 32 bits, because IREE takes shorter ones for unsigned."""
    for place in range(first, len(op.operands)):
        start = op.operands[place]
        if start.type.element_type.width < 32:
            kind = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
            with ir.InsertionPoint(op), op.location:
                op.operands[place] = build.op("stablehlo.convert", kind, start)


def _narrow(scatter: ir_util.Op) -> None:
    """Gives a scatter indices of 32 bits, because IREE fails where two scatters have the same ones of 64 bits."""
    value = scatter.operands[len(scatter.results)]
    if value.type.element_type.width > 32:
        kind = ir.RankedTensorType.get(value.type.shape, ir.IntegerType.get_signless(32))
        with ir.InsertionPoint(scatter), scatter.location:
            narrow = build.op("stablehlo.convert", kind, value)
        scatter.operands[len(scatter.results)] = narrow


Change = Callable[[], None]


@dataclass(frozen=True)
class _Indices:
    """Indices of an operation.

    Attributes:
      number: which of its operands they are.
      limits: the last index along each axis that they are for.
      axis: the axis of that operand that has one index for each of these, None for a single one.
    """

    number: int
    limits: list[int]
    axis: int | None


def _are_inside(value: Any, indices: _Indices, ranges: Ranges) -> bool:
    parts, limits = [value], indices.limits
    joined = ir_util.definition(value)
    if (
        joined is not None
        and joined.name == "stablehlo.concatenate"
        and ir.IntegerAttr(joined.attributes["dimension"]).value == indices.axis
        and len(joined.operands) == len(limits)
    ):
        parts = list(joined.operands)
    else:
        limits = [min(limits)]
    found = map(ranges.of, parts)
    return all(r.low >= 0 and r.high <= limit for r, limit in zip(found, limits, strict=True))


def _clamps(
    read: Callable[[ir_util.Op], _Indices], clamp: Callable[[Any, _Indices], Any]
) -> Callable[[ir_util.Op, Ranges], Iterator[Change]]:
    """Returns a finder that clamps the indices that `read` returns."""

    def find(op: ir_util.Op, ranges: Ranges) -> Iterator[Change]:
        indices = read(op)
        value = op.operands[indices.number]
        # A tensor of unknown size is refused later.
        static = value.type.has_static_shape
        if indices.limits and static and not _are_inside(value, indices, ranges):

            def change() -> None:
                with ir.InsertionPoint(op), op.location:
                    op.operands[indices.number] = clamp(op.operands[indices.number], indices)

            yield change

    return find


def _vector_axis(indices: Any, numbers: dict[str, list[int]]) -> int | None:
    """The axis with the parts of an index; a tensor without it has single ones."""
    (axis,) = numbers.get("index_vector_dim", [0])
    return axis if axis < indices.type.rank else None


def _gathered(op: ir_util.Op) -> _Indices:
    numbers = stablehlo.dimension_numbers(op, "dimension_numbers")
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["slice_sizes"]))
    shape = op.operands[0].type.shape
    limits = [shape[axis] - sizes[axis] for axis in numbers.get("start_index_map", [])]
    return _Indices(1, limits, _vector_axis(op.operands[1], numbers))


def _selected(op: ir_util.Op) -> _Indices:
    axis = ir.IntegerAttr(op.attributes["dim"]).value
    return _Indices(1, [op.operands[0].type.shape[axis] - 1], None)


def _rows(op: ir_util.Op) -> _Indices:
    """TOSA has a tensor of rows for each batch."""
    return _Indices(1, [op.operands[0].type.shape[1] - 1], None)


def _mapped(number: int) -> Callable[[ir_util.Op], _Indices]:
    """Returns the reader of one of IREE's own gathers or scatters, whose indexed tensor is operand `number`."""

    def read(op: ir_util.Op) -> _Indices:
        axes = list(ir.DenseI64ArrayAttr(op.attributes["dimension_map"]))
        indexed = op.operands[number if number >= 0 else len(op.operands) + number]
        shape, rank = indexed.type.shape, op.operands[1].type.rank
        parts = op.operands[1].type.shape[rank - 1] if rank else 1
        axis = rank - 1 if parts == len(axes) and rank > 1 else None
        return _Indices(1, [shape[dim] - 1 for dim in axes], axis)

    return read


def _limits(indices: _Indices, kind: Any) -> list[int]:
    """The limits of all indices, as far as their type goes; one if it holds for all."""
    most = 2 ** (kind.element_type.width - (0 if kind.element_type.is_unsigned else 1)) - 1
    limits = [min(limit, most) for limit in indices.limits]
    return limits[:1] if len(set(limits)) == 1 else limits


def _clamped(value: Any, indices: _Indices) -> Any:
    """Clamps a tensor of indices in StableHLO."""
    limits = _limits(indices, value.type)
    most: Array = np.array(limits[0])
    if len(limits) > 1:
        shape = [1] * value.type.rank
        shape[indices.axis or 0] = len(limits)
        most = np.broadcast_to(np.reshape(limits, shape), value.type.shape)
    zero = stablehlo.constant(np.zeros((), np.int64), value.type)
    last = stablehlo.constant(most, value.type)
    return build.op("stablehlo.clamp", value.type, zero, value, last)


def _clamped_in_linalg(value: Any, indices: _Indices) -> Any:
    """Clamps a tensor of indices by an operation that all frontends' dialects lead to."""
    kind = value.type
    rank = kind.rank
    limits = _limits(indices, kind)
    with_all = ir.AffineMap.get_identity(rank)
    inputs, maps = [value], [with_all]
    if len(limits) > 1:
        array = np.array(limits, f"i{kind.element_type.width // 8}")
        inputs.append(build.array(array, kind.element_type))
        maps.append(ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(indices.axis or 0)]))
    empty = build.op(names.EMPTY, kind)
    return build.elementwise(
        inputs,
        empty,
        [*maps, with_all],
        lambda value, last=limits[0]: _clamped_number(value, last),
    )


def _clamped_number(value: Any, last: Any) -> Any:
    """Clamps one index; `last` is a number or a value."""
    if isinstance(last, int):
        zero, last = (build.number(each, value.type) for each in (0, last))
    else:
        zero = build.number(0, value.type)
    return build.same("arith.minsi", build.same("arith.maxsi", value, zero), last)


def _extracts(op: ir_util.Op, ranges: Ranges) -> Iterator[Change]:
    """Clamps the indices of a single element."""
    yield from _numbers(op, ranges, dict(enumerate(op.operands[0].type.shape, 1)))


def _slices(op: ir_util.Op, ranges: Ranges) -> Iterator[Change]:
    """Clamps where a slice of fixed size, without gaps, begins."""
    offsets, sizes, strides = (
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    inserts = op.name == names.INSERT_SLICE
    shape = op.operands[1 if inserts else 0].type.shape
    first = 2 if inserts else 1
    extents: dict[int, int] = {}
    for offset, size, stride, extent in zip(offsets, sizes, strides, shape, strict=True):
        if offset == _DYNAMIC:
            if stride == 1 and size != _DYNAMIC:
                extents[first] = extent - size + 1
            first += 1
    yield from _numbers(op, ranges, extents)


def _numbers(op: ir_util.Op, ranges: Ranges, extents: dict[int, int]) -> Iterator[Change]:
    for number, extent in extents.items():
        last = _Indices(number, [extent - 1], None)
        if extent < 1 or _are_inside(op.operands[number], last, ranges):
            continue

        def change(number: int = number, extent: int = extent) -> None:
            with ir.InsertionPoint(op), op.location:
                op.operands[number] = _clamped_number(op.operands[number], extent - 1)

        yield change


@dataclass(frozen=True)
class _Window:
    """What a scatter writes for one index: its extent along every axis, and the axes that an index is for."""

    extents: list[int]
    axes: list[int]


def _window(op: ir_util.Op, numbers: dict[str, list[int]]) -> _Window:
    count = len(op.results)
    missing = [
        *numbers.get("inserted_window_dims", []),
        *numbers.get("input_batching_dims", []),
    ]
    updates = op.operands[count + 1].type.shape
    sizes = iter([updates[axis] for axis in numbers.get("update_window_dims", [])])
    rank = op.operands[0].type.rank
    extents = [1 if axis in missing else next(sizes) for axis in range(rank)]
    return _Window(extents, numbers.get("scatter_dims_to_operand_dims", []))


def _scatters(op: ir_util.Op, ranges: Ranges) -> Iterator[Change]:
    """Sends writes that do not lie inside to added rows."""
    numbers = stablehlo.dimension_numbers(op, "scatter_dimension_numbers")
    window = _window(op, numbers)
    value = op.operands[len(op.results)]
    shape = op.operands[0].type.shape
    limits = [shape[axis] - window.extents[axis] for axis in window.axes]
    indices = _Indices(len(op.results), limits, _vector_axis(value, numbers))
    if limits and not _are_inside(value, indices, ranges):
        yield lambda: _drop(op, window, indices)


def _drop(op: ir_util.Op, window: _Window, indices: _Indices) -> None:
    count = len(op.results)
    first = window.axes[0]
    extent = op.operands[0].type.shape[first]
    with ir.InsertionPoint(op), op.location:
        # Behind the tensor there is the place for what is not to be written.
        moved = _moved(op.operands[count], indices, extent)
        low, high = ([0] * op.operands[0].type.rank for _ in range(2))
        high[first] = window.extents[first]
        padded = [stablehlo.padded(value, 0, low, high) for value in op.operands[:count]]
        new = build.again(
            op,
            [value.type for value in padded],
            [*padded, moved, *list(op.operands)[count + 1 :]],
            indices_are_sorted=ir.BoolAttr.get(False),
        )
        op.regions[0].blocks[0].append_to(new.regions[0])
        for old, result in zip(op.results, new.results, strict=True):
            shape = list(old.type.shape)
            kept = stablehlo.sliced(result, old.type, [0] * len(shape), shape)
            old.replace_all_uses_with(kept)
    op.erase()


def _moved(value: Any, indices: _Indices, extent: int) -> Any:
    """Returns indices that have `extent` along the first axis in place of those that do not lie inside."""
    kind = value.type
    if kind.element_type.width < 32:
        kind = ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_signless(32))
        value = build.op("stablehlo.convert", kind, value)
    parts = [value] if indices.axis is None else stablehlo.parts(value, indices.axis)
    part = parts[0].type
    truth = ir.RankedTensorType.get(part.shape, ir.IntegerType.get_signless(1))
    tests = []
    for found, limit in zip(parts, indices.limits, strict=True):
        for direction, bound in (("GE", 0), ("LE", limit)):
            numbers = stablehlo.constant(np.broadcast_to(bound, part.shape), part)
            tests.append(stablehlo.compared(direction, found, numbers))
    inside = functools.reduce(lambda a, b: build.op("stablehlo.and", truth, a, b), tests)
    chosen = [
        build.op(
            "stablehlo.select",
            part,
            inside,
            found,
            stablehlo.constant(np.broadcast_to(0 if number else extent, part.shape), part),
        )
        for number, found in enumerate(parts)
    ]
    if len(chosen) == 1:
        return chosen[0]
    axis = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), indices.axis)
    return build.op("stablehlo.concatenate", kind, *chosen, dimension=axis)


_FINDERS: dict[str, Callable[[ir_util.Op, Ranges], Iterator[Change]]] = {
    "iree_linalg_ext.gather": _clamps(_mapped(0), _clamped_in_linalg),
    "iree_linalg_ext.scatter": _clamps(_mapped(-1), _clamped_in_linalg),
    "stablehlo.gather": _clamps(_gathered, _clamped),
    "stablehlo.scatter": _scatters,
    "stablehlo.torch_index_select": _clamps(_selected, _clamped),
    names.EXTRACT: _extracts,
    names.EXTRACT_SLICE: _slices,
    names.INSERT_SLICE: _slices,
    "tosa.gather": _clamps(_rows, _clamped_in_linalg),
    "tosa.scatter": _clamps(_rows, _clamped_in_linalg),
}
