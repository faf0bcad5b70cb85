"""Rewrites select_and_scatter of StableHLO, which gradients of pools are, as selections and padded sums.

IREE refuses it where windows overlap or reach into padding. Where it compiles it, it asks whether the next element
replaces the selected one, and StableHLO asks whether the selected one stays; so of equal elements it takes another one
(docs/upstream/iree-window-scatters.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import build, ir_util, stablehlo


@dataclass(frozen=True, slots=True)
class _Windows:
    """How windows lie in a tensor; each field has a number for each axis.

    Attributes:
      shape: elements of the tensor.
      count: windows.
      sizes: elements of a window.
      strides: elements from one window to the next.
      low: places before the first element that windows reach.
      high: places behind the last element that windows reach.
    """

    shape: list[int]
    count: list[int]
    sizes: list[int]
    strides: list[int]
    low: list[int]
    high: list[int]

    def part(self, padded: Any, offset: tuple[int, ...]) -> Any:
        """The elements at an offset in all windows, of a tensor with the padding."""
        ends = [
            start + (count - 1) * stride + 1
            for start, count, stride in zip(offset, self.count, self.strides, strict=True)
        ]
        kind = ir.RankedTensorType.get(self.count, padded.type.element_type)
        return stablehlo.sliced(padded, kind, offset, ends, self.strides)

    def spread(self, value: Any, number: int, offset: tuple[int, ...]) -> Any:
        """A tensor with an element for each window at the offset in that window, and this number elsewhere."""
        starts = [start - low for start, low in zip(offset, self.low, strict=True)]
        widths = [(n - 1) * s + 1 for n, s in zip(self.count, self.strides, strict=True)]
        ends = [
            size - start - width
            for size, start, width in zip(self.shape, starts, widths, strict=True)
        ]
        return stablehlo.padded(value, number, starts, ends, [s - 1 for s in self.strides])


def apply(module: Any, _: object = None) -> None:
    """Rewrites each such operation."""
    for op in ir_util.all_of(module, "stablehlo.select_and_scatter"):
        with ir.InsertionPoint(op), op.location:
            made = _scattered(op, _windows(op))
        op.results[0].replace_all_uses_with(made)
        op.erase()


def _windows(op: ir_util.Op) -> _Windows:
    value, source, _ = op.operands
    rank = value.type.rank

    def numbers(name: str) -> list[int]:
        return list(op.attributes[name]) if name in op.attributes else [1] * rank

    padding = np.zeros((rank, 2), np.int64)
    if "padding" in op.attributes:
        padding[:] = np.array(list(op.attributes["padding"])).reshape(rank, 2)
    low, high = padding.T.tolist()
    shape, count = list(value.type.shape), list(source.type.shape)
    return _Windows(
        shape, count, numbers("window_dimensions"), numbers("window_strides"), low, high
    )


def _scattered(op: ir_util.Op, windows: _Windows) -> Any:
    """Returns the result: each element of the source goes where the selected element of its window is."""
    value, source, start = op.operands
    selects, scatters = op.regions
    place = ir.RankedTensorType.get(windows.count, ir.IntegerType.get_signless(32))
    offsets = [*np.ndindex(*windows.sizes)]
    padded = stablehlo.padded(value, 0, windows.low, windows.high)
    truth = ir.RankedTensorType.get(windows.shape, ir.IntegerType.get_signless(1))
    is_element = stablehlo.padded(stablehlo.filled(truth, 1), 0, windows.low, windows.high)
    best = windows.part(padded, offsets[0])
    nowhere = stablehlo.filled(place, -1)
    places = _chosen(windows.part(is_element, offsets[0]), stablehlo.filled(place, 0), nowhere)
    for number, offset in enumerate(offsets[1:], 1):
        element = windows.part(padded, offset)
        stays = build.same(
            "stablehlo.and",
            _inlined(selects, best, element),
            stablehlo.compared("NE", places, nowhere),
        )
        is_new = build.same(
            "stablehlo.and", windows.part(is_element, offset), build.same("stablehlo.not", stays)
        )
        best = _chosen(is_new, element, best)
        places = _chosen(is_new, stablehlo.filled(place, number), places)
    total = stablehlo.broadcast(start, op.results[0].type)
    for number, offset in enumerate(offsets):
        here = windows.spread(places, -1, offset)
        added = _inlined(scatters, total, windows.spread(source, 0, offset))
        is_here = stablehlo.compared("EQ", here, stablehlo.filled(here.type, number))
        total = _chosen(is_here, added, total)
    return total


def _chosen(condition: Any, one: Any, other: Any) -> Any:
    return build.op("stablehlo.select", one.type, condition, one, other)


def _inlined(region: Any, *arguments: Any) -> Any:
    """Computes elementwise what a region of scalars computes."""
    block = region.blocks[0]
    shape = arguments[0].type.shape
    whole = dict(zip(block.arguments, arguments, strict=True))

    def repeated(value: Any) -> Any:
        kind = ir.RankedTensorType.get(shape, value.type.element_type)
        return stablehlo.broadcast(value, kind)

    def spread(value: Any) -> Any:
        return whole[value] if value in whole else repeated(value)

    *steps, end = block.operations
    for step in steps:
        if len(step.operands):
            kinds = [ir.RankedTensorType.get(shape, r.type.element_type) for r in step.results]
            made = build.again(step, kinds, [spread(value) for value in step.operands])
        else:
            made = step.operation.clone()
        for old, new in zip(step.results, made.results, strict=True):
            whole[old] = new if len(step.operands) else repeated(new)
    return spread(end.operands[0])
