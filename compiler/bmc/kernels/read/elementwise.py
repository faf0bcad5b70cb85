"""Reads a dispatch as an elementwise operation, which may only copy elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.dtypes import TYPES
from bmc.kernels.problem.elementwise import Elementwise
from bmc.kernels.problem.product import RESULT, Loop, Node, strided
from bmc.kernels.problem.roles import merged, needed, with_scalars
from bmc.kernels.read.body import Operations
from bmc.kernels.read.halves import typed
from bmc.kernels.read.requantize import with_requantize
from bmc.kernels.read.views import STORE, View, dtype_of, loops_of, maps_of, source_of, substituted
from bmc.kernels.unsupported import Unsupported

# Fewer lanes are not worth vectorizing.
_FEWEST = 8
# To compare loops as lanes: lanes of a group, estimated instructions around its operations, and for each strided lane.
_LANES = 64
_AROUND = 8
_GAP = 0.25
_NAMES = ("linalg.generic", "linalg.transpose", "linalg.broadcast", "linalg.copy")


def read(function: ir_util.Op, lanes: int = 0) -> tuple[Elementwise, tuple[Any, ...]]:
    """Returns the elementwise problem of a dispatch function, and its operands: the result first.

    Args:
      function: the function of the dispatch.
      lanes: which of its loops is vectorized; 0 is the one with the lowest estimated cost.

    Raises:
      Unsupported: the function is not a single elementwise operation, or has unsupported types or operations.
    """
    ops = list(ir_util.walk(function))
    stores = [op for op in ops if op.name == STORE]
    computes = [op for op in ops if op.name.startswith(("linalg.", "iree_linalg_ext."))]
    computes = [op for op in computes if op.name not in ("linalg.yield", "linalg.index")]
    if len(computes) == 1 and not stores and not computes[0].results:
        # The operation writes a buffer.
        *_, value = computes[0].operands
        stored = {value: value}
    elif stores and all(op.parent.name == "func.func" for op in stores) and len(computes) < 2:
        stored = {op.operands[0]: op.operands[1] for op in stores}
        value = stores[0].operands[0]
    else:
        raise Unsupported("a dispatch that is not a single operation")
    rank = value.type.rank
    loops = [ir.AffineExpr.get_dim(n) for n in range(rank)]
    # The first view is a placeholder for the result.
    views = [View(stored[value], ir.AffineMap.get(rank, 0, loops))]

    def add(view: View) -> int:
        views.append(view)
        return RESULT + len(views) - 1

    def view_of(operand: Any, indices: list[Any]) -> View:
        return View(operand, ir.AffineMap.get(rank, 0, indices))

    def table(operand: Any) -> int:
        zeros = [ir.AffineExpr.get_constant(0)] * operand.type.rank
        return add(view_of(*source_of(operand, zeros)))

    operations = Operations(table)

    def load(operand: Any, indices: list[Any]) -> int:
        dtype = dtype_of(operand)
        if dtype not in TYPES:
            raise Unsupported(f"an operation that reads {dtype}")
        number = add(view_of(*source_of(operand, indices)))
        return operations.node(Node("load", dtype, operand=number))

    if computes:
        (op,) = computes
        op_results = list(op.results) or [value]
        if op.name not in _NAMES or not set(stored) <= set(op_results):
            raise Unsupported(f"a dispatch with {op.name}")
        if "reduction" in str(op.attributes.get("iterator_types", "")):
            raise Unsupported("a reduction")
        maps = maps_of(op)
        inputs, results = maps[: -len(op_results)], maps[-len(op_results) :]
        loops = loops_of(results[op_results.index(value)], loops)
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
            for each, last, map_ in zip(op_results, end.operands, results, strict=True)
            if each in stored
        ]
        views[0] = operations.store(computed, add)
    elif len(stores) == 1:
        load(value, loops)
    else:
        raise Unsupported("several results that are only copied")
    dtypes = ("", "", *(dtype_of(view.value) for view in views))
    result_loops = [
        Loop(extent, (0, 0, *(view.stride(number) for view in views)))
        for number, extent in enumerate(value.type.shape)
    ]
    problem = arranged(dtypes, result_loops, typed(with_requantize(operations.nodes)), lanes)
    return problem, tuple(view.value for view in views)


def arranged(
    dtypes: tuple[str, ...], loops: list[Loop], nodes: Sequence[Node], number: int = 0
) -> Elementwise:
    """Chooses the lanes; `number` as `lanes` of read(). Raises Unsupported if all loops are too short."""
    merged_loops = merged(loops)
    candidates = [loop for loop in merged_loops if loop.extent >= _FEWEST]
    if not candidates:
        raise Unsupported("too few elements")
    if number >= len(candidates):
        raise Unsupported(f"only {len(candidates)} loops that can be lanes")

    def cost(lanes: Loop) -> float:
        """Estimates the instructions with these lanes."""
        outer = tuple(loop for loop in merged_loops if loop is not lanes)
        gaps = len(strided(dtypes, lanes, range(RESULT, len(dtypes))))
        elements = lanes.extent * math.prod(loop.extent for loop in outer)
        groups = math.prod(loop.extent for loop in outer) * math.ceil(lanes.extent / _LANES)
        return groups * (_AROUND + len(nodes)) + gaps * elements * _GAP

    lanes = sorted(candidates, key=cost)[number]
    outer = tuple(loop for loop in merged_loops if loop is not lanes)
    return Elementwise(dtypes, outer, lanes, needed(with_scalars(tuple(nodes), lanes)))
