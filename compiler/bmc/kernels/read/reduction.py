"""Reads a dispatch as a reduction: means, poolings, and products with few columns.

Lanes are a loop over results, or all results together (problem/grid.py), or a summed loop. In the last case, each
result is a sum of lanes, and the epilogue runs once all sums are in memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.dtypes import TYPES, WIDTHS
from bmc.kernels.problem.grid import as_one, gathered
from bmc.kernels.problem.product import RESULT, Loop, Node, strided
from bmc.kernels.problem.reduction import Reduction
from bmc.kernels.problem.roles import merged, needed, with_scalars
from bmc.kernels.read import product
from bmc.kernels.read.body import Operations
from bmc.kernels.read.halves import typed
from bmc.kernels.read.views import View, dtype_of, maps_of, plain, source_of
from bmc.kernels.unsupported import Unsupported

# Fewer lanes are not worth vectorizing.
_FEWEST = 8
# To compare loops as lanes: lanes of a group, and estimated instructions around its operations, for each strided lane,
# and to sum lanes.
_LANES = 64
_AROUND = 4
_GAP = 0.25
_ACROSS = 10
_ADDITIONS = {"arith.addf": "f32", "arith.addi": "i32"}


def read(function: ir_util.Op) -> tuple[Reduction, tuple[Any, ...]]:
    """Returns the reduction of a dispatch function, and its operands: the result first, buffers or constants.

    Raises:
      Unsupported: the function is not a single sum with an epilogue, or has unsupported types or operations.
    """
    return _Reader(function).reduction()


class _Reader(product.Reader):
    """Reads the operation that sums, and its epilogue."""

    def reduction(self) -> tuple[Reduction, tuple[Any, ...]]:
        """Reads a reduction."""
        root = self.only([op for op in self.ops if is_reduction(op)])
        maps = maps_of(root)
        *inputs, start = root.operands
        arguments = root.regions[0].blocks[0].arguments
        used = [n for n in range(len(inputs)) if list(arguments[n].uses)]
        if not used:
            raise Unsupported("a reduction without inputs")
        map_ = maps[used[0]]
        source, indices = source_of(inputs[used[0]], list(map_.results))
        self.views = [View(source, ir.AffineMap.get(map_.n_dims, 0, indices))] * (RESULT + 1)
        step = self._step(root, used, maps)
        result_loops = plain(maps[-1])
        if self.initial(start, result_loops) is not None:
            raise Unsupported("a reduction with initial values")
        self.finish(root, result_loops)
        views = self.views[RESULT:]
        extents = product.extents(root)
        loops = [
            Loop(extent, (0, 0, *(view.stride(number) for view in views)))
            for number, extent in enumerate(extents)
        ]
        summed = set(range(len(loops))) - {index.position for index in result_loops}
        dtypes = ("", "", *(dtype_of(view.value) for view in views))
        operands = tuple(view.value for view in views)
        epilogue = typed(self.operations.nodes)
        return arranged(dtypes, loops, summed, typed(step), epilogue), operands

    def _step(self, root: Any, used: list[int], maps: list[Any]) -> list[Node]:
        """Returns the nodes of a step; `used` are the numbers of the root's operands that it reads."""
        block = root.regions[0].blocks[0]
        *body, last, end = [op.operation for op in block.operations]
        accumulator = block.arguments[len(root.operands) - 1]
        dtype = _ADDITIONS.get(last.name)
        if (
            dtype is None
            or dtype_of(accumulator) != dtype
            or end.operands[0] != last.results[0]
            or len(list(accumulator.uses)) != 1
            or accumulator not in list(last.operands)
        ):
            raise Unsupported(f"a reduction by {last.name}")
        operations = Operations(self.table)
        operations.node(Node("sum", dtype))
        known: dict[Any, int] = {}
        for number in used:
            operand = root.operands[number]
            if dtype_of(operand) not in TYPES:
                raise Unsupported(f"a reduction of {dtype_of(operand)}")
            loaded = self.operand(operand, list(maps[number].results))
            node = Node("load", dtype_of(operand), operand=loaded)
            known[block.arguments[number]] = operations.node(node)
        for op in body:
            operations.add(op, known)
        (added,) = (value for value in last.operands if value != accumulator)
        value = operations.value(added, known)
        operations.node(Node(last.name.removeprefix("arith."), dtype, (0, value)))
        return operations.nodes


def is_reduction(op: Any) -> bool:
    """Whether an operation is a linalg operation that reduces along an axis."""
    if not op.name.startswith("linalg.") or len(op.results) != 1 or not len(op.regions):
        return False
    if op.name in ("linalg.fill", "linalg.transpose", "linalg.broadcast"):
        return False
    result_map = maps_of(op)[-1]
    return bool(result_map.n_dims > len(list(result_map.results)))


def arranged(
    dtypes: tuple[str, ...],
    loops: list[Loop],
    summed: set[int],
    step: Sequence[Node],
    epilogue: Sequence[Node],
) -> Reduction:
    """Chooses the lanes: one of the loops, or all results together. Raises Unsupported if there are too few elements.

    Args:
      dtypes: as in Reduction.
      loops: all loops.
      summed: indices of the summed loops.
      step: as in Reduction, but scalars may still be loads, and nodes may be unused.
      epilogue: the same.
    """
    outer = merged([loop for number, loop in enumerate(loops) if number not in summed])
    summed_loops = merged([loop for number, loop in enumerate(loops) if number in summed])
    count = math.prod(loop.extent for loop in (*outer, *summed_loops))
    loads = {node.operand for node in step if node.op == "load"}

    def cost(lanes: Loop) -> float:
        """Estimates the instructions with these lanes."""
        gathered_operands = loads & gathered(dtypes, outer) if lanes is all_results else set()
        gaps = len(strided(dtypes, lanes, loads)) + len(gathered_operands)
        groups = count / lanes.extent * math.ceil(lanes.extent / _LANES)
        across = math.prod(loop.extent for loop in outer) * _ACROSS if lanes in summed_loops else 0
        return groups * (_AROUND + len(step)) + gaps * count * _GAP + across

    candidates = [loop for loop in (*outer, *summed_loops) if loop.extent >= _FEWEST]
    all_results = None
    if not any(loop in outer and not strided(dtypes, loop, loads) for loop in candidates):
        all_results = _all_results(dtypes, outer)
        candidates += [all_results] if all_results else []
    if not candidates:
        raise Unsupported("too few elements")
    lanes = min(candidates, key=cost)
    grid = outer if lanes is all_results else ()
    across = lanes in summed_loops
    outer = () if grid else tuple(loop for loop in outer if loop is not lanes)
    summed_loops = tuple(loop for loop in summed_loops if loop is not lanes)
    none = Loop(1, (0,) * len(dtypes))
    if across and not outer:
        outer = (none,)
    # A stride of 0 tells which operands are scalars. Gathered operands have 0 in `lanes`, but are vectors.
    strides = [
        sum(loop.strides[n] for loop in grid) or stride for n, stride in enumerate(lanes.strides)
    ]
    moving = replace(lanes, strides=tuple(strides))
    return Reduction(
        dtypes,
        outer,
        lanes,
        summed_loops,
        across,
        needed(with_scalars(tuple(step), moving)),
        needed(with_scalars(tuple(epilogue), outer[-1] if across else moving)),
        grid,
    )


def _all_results(dtypes: tuple[str, ...], outer: tuple[Loop, ...]) -> Loop | None:
    """Returns one loop over all results; None if they are too few, or if they or the operands do not allow it."""
    if len(outer) < 2:
        return None
    lanes = as_one(outer)
    gathered_operands = gathered(dtypes, outer)
    fits = RESULT not in gathered_operands and all(
        WIDTHS[dtypes[number]] == 4 for number in gathered_operands
    )
    return lanes if fits and lanes.extent >= _FEWEST else None
