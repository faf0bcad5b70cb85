"""Kernels that add up many elements for each result, such as means, poolings and products with few columns.

Lanes are neighboring results, also of several loops (gather.py). Or they are elements that are added up: then each
result is a sum of lanes, and what is computed from these sums comes once all are in memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bmc.ir import ir_util
from bmc.kernels.dtypes import TYPES, WIDTHS
from bmc.kernels.problem.grid import as_one, gathered
from bmc.kernels.problem.product import RESULT, Loop, Node, Unsupported, strided
from bmc.kernels.problem.reduction import Reduction
from bmc.kernels.problem.roles import merged, needed, with_scalars
from bmc.kernels.read import product
from bmc.kernels.read.body import Operations
from bmc.kernels.read.halves import typed
from bmc.kernels.read.views import View, dtype_of, maps_of, plain, source_of

# Fewer elements than this are not worth a group of registers.
_FEWEST = 8
# To compare loops: lanes of a group, instructions around its operations, those that an element costs in memory if its
# neighbors are elsewhere, and those to add up lanes.
_LANES = 64
_AROUND = 4
_GAP = 0.25
_ACROSS = 10
_ADDITIONS = {"arith.addf": "f32", "arith.addi": "i32"}


def read(function: ir_util.Op) -> tuple[Reduction, tuple[Any, ...]]:
    """Returns what a dispatch function does, and its operands: the result first, as buffers or constants.

    Raises:
      Unsupported: it does anything else.
    """
    return _Reader(function).reduction()


class _Reader(product.Reader):
    def reduction(self) -> tuple[Reduction, tuple[Any, ...]]:
        root = self.only([op for op in self.ops if is_reduction(op)])
        maps = maps_of(root)
        *inputs, start = root.operands
        arguments = root.regions[0].blocks[0].arguments
        used = [n for n in range(len(inputs)) if list(arguments[n].uses)]
        if not used:
            raise Unsupported("a sum of nothing")
        self.views = [View(source_of(inputs[used[0]]), maps[used[0]])] * (RESULT + 1)
        step = self._step(root, used, maps)
        written = plain(maps[-1])
        if self.initial(start, written) is not None:
            raise Unsupported("sums that start from something")
        self.finish(root, written)
        views = self.views[RESULT:]
        extents = product.extents(root)
        loops = [
            Loop(extent, (0, 0, *(view.stride(number) for view in views)))
            for number, extent in enumerate(extents)
        ]
        summed = set(range(len(loops))) - {index.position for index in written}
        dtypes = ("", "", *(dtype_of(view.value) for view in views))
        operands = tuple(view.value for view in views)
        behind = typed(self.operations.nodes)
        return arranged(dtypes, loops, summed, typed(step), behind), operands

    def _step(self, root: Any, used: list[int], maps: list[Any]) -> list[Node]:
        block = root.regions[0].blocks[0]
        *body, last, end = [op.operation for op in block.operations]
        sums = block.arguments[len(root.operands) - 1]
        dtype = _ADDITIONS.get(last.name)
        if (
            dtype is None
            or dtype_of(sums) != dtype
            or end.operands[0] != last.results[0]
            or len(list(sums.uses)) != 1
            or sums not in list(last.operands)
        ):
            raise Unsupported(f"a reduction by {last.name}")
        operations = Operations(self.table)
        operations.node(Node("sum", dtype))
        known: dict[Any, int] = {}
        for number in used:
            operand = root.operands[number]
            if dtype_of(operand) not in TYPES:
                raise Unsupported(f"a reduction of {dtype_of(operand)}")
            place = self.operand(operand, list(maps[number].results))
            node = Node("load", dtype_of(operand), operand=place)
            known[block.arguments[number]] = operations.node(node)
        for op in body:
            operations.add(op, known)
        (added,) = (value for value in last.operands if value != sums)
        value = operations.value(added, known)
        operations.node(Node(last.name.removeprefix("arith."), dtype, (0, value)))
        return operations.nodes


def is_reduction(op: Any) -> bool:
    """Whether an operation of linalg combines elements."""
    if not op.name.startswith("linalg.") or len(op.results) != 1 or not len(op.regions):
        return False
    if op.name in ("linalg.fill", "linalg.transpose", "linalg.broadcast"):
        return False
    written = maps_of(op)[-1]
    return bool(written.n_dims > len(list(written.results)))


def arranged(
    dtypes: tuple[str, ...],
    loops: list[Loop],
    summed: set[int],
    step: Sequence[Node],
    behind: Sequence[Node],
) -> Reduction:
    """Chooses the loop that is lanes, or all loops over results; raises Unsupported if there are few elements."""
    outer = merged([loop for number, loop in enumerate(loops) if number not in summed])
    sums = merged([loop for number, loop in enumerate(loops) if number in summed])
    count = math.prod(loop.extent for loop in (*outer, *sums))
    loads = {node.operand for node in step if node.op == "load"}

    def cost(lanes: Loop) -> float:
        elsewhere = loads & gathered(dtypes, outer) if lanes is together else set()
        gaps = len(strided(dtypes, lanes, loads)) + len(elsewhere)
        groups = count / lanes.extent * math.ceil(lanes.extent / _LANES)
        across = math.prod(loop.extent for loop in outer) * _ACROSS if lanes in sums else 0
        return groups * (_AROUND + len(step)) + gaps * count * _GAP + across

    found = [loop for loop in (*outer, *sums) if loop.extent >= _FEWEST]
    together = None
    if not any(loop in outer and not strided(dtypes, loop, loads) for loop in found):
        together = _together(dtypes, outer)
        found += [together] if together else []
    if not found:
        raise Unsupported("few elements")
    lanes = min(found, key=cost)
    grid = outer if lanes is together else ()
    across = lanes in sums
    outer = () if grid else tuple(loop for loop in outer if loop is not lanes)
    sums = tuple(loop for loop in sums if loop is not lanes)
    none = Loop(1, (0,) * len(dtypes))
    if across and not outer:
        outer = (none,)
    # The loop along which operands move: elsewhere, or to the next lane.
    strides = [
        sum(loop.strides[n] for loop in grid) or step for n, step in enumerate(lanes.strides)
    ]
    moving = replace(lanes, strides=tuple(strides))
    return Reduction(
        dtypes,
        outer,
        lanes,
        sums,
        across,
        needed(with_scalars(tuple(step), moving)),
        needed(with_scalars(tuple(behind), outer[-1] if across else moving)),
        grid,
    )


def _together(dtypes: tuple[str, ...], outer: tuple[Loop, ...]) -> Loop | None:
    """Returns the loop over all results, None if they are few, or no neighbors."""
    if len(outer) < 2:
        return None
    lanes = as_one(outer)
    elsewhere = gathered(dtypes, outer)
    fits = RESULT not in elsewhere and all(WIDTHS[dtypes[number]] == 4 for number in elsewhere)
    return lanes if fits and lanes.extent >= _FEWEST else None
