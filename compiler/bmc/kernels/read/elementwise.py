"""Reads a dispatch that computes each element from one element of each operand, or only moves elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.dtypes import TYPES
from bmc.kernels.problem.elementwise import Elementwise
from bmc.kernels.problem.product import RESULT, Loop, Node, Unsupported, strided
from bmc.kernels.problem.roles import merged, needed, with_scalars
from bmc.kernels.read.body import Operations
from bmc.kernels.read.halves import typed
from bmc.kernels.read.requantize import clipped
from bmc.kernels.read.views import STORE, View, dtype_of, loops_of, maps_of, source_of, substituted

# Fewer elements than this are not worth a group of registers.
_FEWEST = 8
# To compare loops: lanes of a group, instructions around its operations, and those that an element costs in memory if
# its neighbors are elsewhere.
_LANES = 64
_AROUND = 8
_GAP = 0.25
_NAMES = ("linalg.generic", "linalg.transpose", "linalg.broadcast", "linalg.copy")


def read(function: ir_util.Op, lanes: int = 0) -> tuple[Elementwise, tuple[Any, ...]]:
    """Returns what a dispatch function does, and its operands: the result first, as buffers or constants.

    Args:
      function: the dispatch.
      lanes: which of its loops runs in vectors, from 0, the one that seems to be the cheapest.

    Raises:
      Unsupported: it does anything else.
    """
    ops = list(ir_util.walk(function))
    stores = [op for op in ops if op.name == STORE]
    computes = [op for op in ops if op.name.startswith(("linalg.", "iree_linalg_ext."))]
    computes = [op for op in computes if op.name not in ("linalg.yield", "linalg.index")]
    if len(computes) == 1 and not stores and not computes[0].results:
        # It works on buffers.
        *_, value = computes[0].operands
        stored = {value: value}
    elif stores and all(op.parent.name == "func.func" for op in stores) and len(computes) < 2:
        stored = {op.operands[0]: op.operands[1] for op in stores}
        value = stores[0].operands[0]
    else:
        raise Unsupported("a dispatch that is not one operation")
    rank = value.type.rank
    loops = [ir.AffineExpr.get_dim(n) for n in range(rank)]
    # Takes the place of the result.
    views = [View(stored[value], ir.AffineMap.get(rank, 0, loops))]

    def add(view: View) -> int:
        views.append(view)
        return RESULT + len(views) - 1

    def view_of(operand: Any, indices: list[Any]) -> View:
        return View(operand, ir.AffineMap.get(rank, 0, indices))

    def table(operand: Any) -> int:
        zeros = [ir.AffineExpr.get_constant(0)] * operand.type.rank
        return add(view_of(source_of(operand), zeros))

    operations = Operations(table)

    def load(operand: Any, indices: list[Any]) -> int:
        dtype = dtype_of(operand)
        if dtype not in TYPES:
            raise Unsupported(f"an operation that reads {dtype}")
        number = add(view_of(source_of(operand), indices))
        return operations.node(Node("load", dtype, operand=number))

    if computes:
        (op,) = computes
        made = list(op.results) or [value]
        if op.name not in _NAMES or not set(stored) <= set(made):
            raise Unsupported(f"a dispatch with {op.name}")
        if "reduction" in str(op.attributes.get("iterator_types", "")):
            raise Unsupported("a reduction")
        maps = maps_of(op)
        inputs, results = maps[: -len(made)], maps[-len(made) :]
        loops = loops_of(results[made.index(value)], loops)
        block = op.regions[0].blocks[0]
        known = {
            argument: load(operand, substituted(map_, loops))
            for argument, operand, map_ in zip(block.arguments, op.operands, inputs, strict=False)
            if list(argument.uses)
        }
        *body, end = [each.operation for each in block.operations]
        for each in body:
            operations.add(each, known)
        computed = [
            (operations.value(last, known), view_of(stored[each], substituted(map_, loops)))
            for each, last, map_ in zip(made, end.operands, results, strict=True)
            if each in stored
        ]
        views[0] = operations.store(computed, add)
    elif len(stores) == 1:
        load(value, loops)
    else:
        raise Unsupported("several results that are only moved")
    dtypes = ("", "", *(dtype_of(view.value) for view in views))
    extents = list(value.type.shape)
    found = [
        Loop(extent, (0, 0, *(view.stride(number) for view in views)))
        for number, extent in enumerate(extents)
    ]
    it = arranged(dtypes, found, typed(clipped(operations.nodes)), lanes)
    return it, tuple(view.value for view in views)


def arranged(
    dtypes: tuple[str, ...], loops: list[Loop], nodes: Sequence[Node], number: int = 0
) -> Elementwise:
    """Chooses the loop that is lanes, as read() does; raises Unsupported if all are short."""
    found = merged(loops)
    long = [loop for loop in found if loop.extent >= _FEWEST]
    if not long:
        raise Unsupported("few elements")
    if number >= len(long):
        raise Unsupported(f"only {len(long)} loops that can be lanes")

    def seems(lanes: Loop) -> float:
        outer = tuple(loop for loop in found if loop is not lanes)
        gaps = len(strided(dtypes, lanes, range(RESULT, len(dtypes))))
        elements = lanes.extent * math.prod(loop.extent for loop in outer)
        groups = math.prod(loop.extent for loop in outer) * math.ceil(lanes.extent / _LANES)
        return groups * (_AROUND + len(nodes)) + gaps * elements * _GAP

    lanes = sorted(long, key=seems)[number]
    outer = tuple(loop for loop in found if loop is not lanes)
    return Elementwise(dtypes, outer, lanes, needed(with_scalars(tuple(nodes), lanes)))
