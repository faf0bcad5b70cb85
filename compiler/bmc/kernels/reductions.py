"""Kernels that add up many elements for each result, such as means, poolings and products with few columns.

Lanes are neighboring results, also of several loops (places.py). Or they are elements that are added up: then each
result is a sum of lanes, and what is computed from these sums comes once all are in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bmc.ir import ir_util
from bmc.kernels import dots, epilogue, places, read
from bmc.kernels.arranging import merged, needed, with_scalars
from bmc.kernels.assembly import Assembly, Kernel
from bmc.kernels.constants import Constants, hoisted
from bmc.kernels.halves import typed
from bmc.kernels.lanes import Lanes
from bmc.kernels.operations import Operations
from bmc.kernels.product import RESULT, TYPES, WIDTHS, Loop, Node, Unsupported, apart
from bmc.kernels.views import View, dtype_of, maps_of, plain, source_of

_REGISTERS = 32
_FLOATS = 31
# Integer registers for lengths, distances, and the turns of loops.
_COUNTERS = 10
# Fewer elements than this are not worth a group of registers.
_FEWEST = 8
# Turns of a loop that are written one after the other.
_UNROLLED = 4
# To compare loops: lanes of a group, instructions around its operations, those that an element costs in memory if its
# neighbors are elsewhere, and those to add up lanes.
_LANES = 64
_AROUND = 4
_GAP = 0.25
_ACROSS = 10
_ADDITIONS = {"arith.addf": "f32", "arith.addi": "i32"}
# What adds up lanes.
_ACROSS_LANES = {"f32": "vfredusum.vs", "i32": "vredsum.vs"}


@dataclass(frozen=True)
class Reduction:
    """result[outer, lane] = epilogue(sum over sums of the elements), or lanes are summed as well.

    Attributes:
      dtypes: element type of each operand, by their numbers in the nodes; the first two are nothing.
      outer: loops around everything.
      lanes: the loop that runs in vectors.
      sums: the other loops that are summed.
      across: whether lanes are summed.
      step: what is added to the sums, which are the first node; the last one is the new sums.
      epilogue: the values computed from a sum; the last one is stored.
      grid: where lanes are all results, the loops that they are made of, outermost first.
    """

    dtypes: tuple[str, ...]
    outer: tuple[Loop, ...]
    lanes: Loop
    sums: tuple[Loop, ...]
    across: bool
    step: tuple[Node, ...]
    epilogue: tuple[Node, ...]
    grid: tuple[Loop, ...] = ()

    @property
    def anywhere(self) -> list[int]:
        """The operands whose elements are anywhere for neighboring lanes."""
        return sorted(_anywhere(self.dtypes, self.grid))


def reduction(function: ir_util.Op) -> tuple[Reduction, tuple[Any, ...]]:
    """Returns what a dispatch function does, and its operands: the result first, as buffers or constants.

    Raises:
      Unsupported: it does anything else.
    """
    return _Reader(function).reduction()


class _Reader(read.Reader):
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
        extents = read.extents(root)
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
        anywhere = loads & _anywhere(dtypes, outer) if lanes is together else set()
        gaps = len(apart(dtypes, lanes, loads)) + len(anywhere)
        groups = count / lanes.extent * math.ceil(lanes.extent / _LANES)
        across = math.prod(loop.extent for loop in outer) * _ACROSS if lanes in sums else 0
        return groups * (_AROUND + len(step)) + gaps * count * _GAP + across

    found = [loop for loop in (*outer, *sums) if loop.extent >= _FEWEST]
    together = None
    if not any(loop in outer and not apart(dtypes, loop, loads) for loop in found):
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


def _anywhere(dtypes: tuple[str, ...], grid: tuple[Loop, ...]) -> set[int]:
    """Returns the operands whose elements are anywhere for neighboring lanes, if these are all of a grid."""
    operands = range(RESULT, len(dtypes)) if grid else ()
    return {n for n in operands if any(places.factors(grid, n)[:-1])}


def _together(dtypes: tuple[str, ...], outer: tuple[Loop, ...]) -> Loop | None:
    """Returns the loop over all results, None if they are few, or no neighbors."""
    if len(outer) < 2:
        return None
    lanes = places.as_one(outer)
    anywhere = _anywhere(dtypes, outer)
    fits = RESULT not in anywhere and all(WIDTHS[dtypes[number]] == 4 for number in anywhere)
    return lanes if fits and lanes.extent >= _FEWEST else None


def write(found: Reduction, vlen: int) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits.

    Raises:
      Unsupported: there are operations or operands that a kernel cannot have.
    """
    return _Writer(found, vlen).kernel()


class _Writer:
    def __init__(self, found: Reduction, vlen: int) -> None:
        self._it = found
        self._vlen = vlen
        self._out = Assembly(len(found.dtypes) - RESULT)
        self._addresses = dict(enumerate(self._out.arguments, RESULT))
        self._scratch = self._out.argument() if found.across else ""
        self._constants: Constants = {}
        # The groups with the places of operands.
        self._places: dict[int, int] = {}

    def kernel(self) -> Kernel:
        out, it = self._out, self._it
        self._constants = hoisted(out, self._nodes(), _FLOATS - 1, _COUNTERS)
        *outer, rows = it.outer or (Loop(1, (0,) * len(it.dtypes)),)
        if it.across:
            self._over(outer, lambda: self._across(rows))
        else:
            self._over(list(it.outer), self._lines)
        scratch = rows.extent * 4 if it.across else 0
        return Kernel(out.text(), tuple(out.arguments), tuple(out.clobbered()), scratch)

    def _nodes(self) -> tuple[Node, ...]:
        """The nodes of a step, and those behind it."""
        more = len(self._it.step)
        behind = (
            replace(node, args=tuple(arg + more for arg in node.args)) for node in self._it.epilogue
        )
        return (*self._it.step, *behind)

    def _over(self, loops: Sequence[Loop], body: Callable[[], None]) -> None:
        """Runs something for all turns of loops, and leaves addresses as they were."""
        if not loops:
            body()
            return
        first, *rest = loops

        def turn() -> None:
            self._over(rest, body)
            self._move(first, 1)

        if first.extent <= _UNROLLED and not rest:
            for _ in range(first.extent):
                turn()
        else:
            self._out.repeat(first.extent, turn)
        self._move(first, -first.extent)

    def _move(self, loop: Loop, times: int) -> None:
        for number, address in self._addresses.items():
            self._out.add(address, times * loop.strides[number])

    def _pieces(self, lanes: Loop, lmul: int, piece: Callable[[Lanes], None]) -> None:
        """Runs something for all pieces of lanes, and leaves addresses as they were."""
        out = self._out
        widest = lmul * self._vlen // 32
        whole, left = divmod(lanes.extent, widest)
        gaps = apart(self._it.dtypes, lanes, range(RESULT, len(self._it.dtypes)))
        with out.registers(1) as (length,), out.registers(bool(self._places)) as first:

            def several(count: int) -> None:
                out.set(length, count)
                at = Lanes(count, lmul, length, gaps, self._places)
                at.use(out, 32)
                if first:
                    places.write(out, self._it.grid, self._places, at, first[0])
                    out.add(first[0], count)
                piece(at)
                self._move(lanes, count)

            if first:
                out.set(first[0], 0)
            if whole:
                out.repeat(whole, lambda: several(widest))
            if left:
                several(left)
        self._move(lanes, -lanes.extent)

    def _lines(self) -> None:
        """Emits the kernel where lanes are results."""
        it = self._it
        lmul = self._lmul(it.epilogue)
        *free, group = range(_REGISTERS // lmul)
        self._places = {operand: free.pop() for operand in it.anywhere}

        def piece(lanes: Lanes) -> None:
            self._out.emit(f"vmv.v.i v{group * lmul}, 0")
            self._over(it.sums, lambda: self._emit(self._it.step, group, free, lanes, stores=False))
            self._emit(it.epilogue, group, free, lanes)

        self._pieces(it.lanes, lmul, piece)

    def _across(self, rows: Loop) -> None:
        """Emits a line of results whose lanes are added up, and then what is computed from them."""
        out, it = self._out, self._it
        lmul = self._lmul(())
        # The last group is that of the sums. The first register of the one before has the sum of lanes.
        *free, total, group = range(_REGISTERS // lmul)
        totals = f"v{total * lmul}"
        is_float = it.step[0].dtype == "f32"

        def piece(lanes: Lanes) -> None:
            out.emit(f"vmv.v.i v{group * lmul}, 0")
            self._over(it.sums, lambda: self._emit(self._it.step, group, free, lanes, stores=False))
            out.emit(f"{_ACROSS_LANES[it.step[0].dtype]} {totals}, v{group * lmul}, {totals}")

        def row() -> None:
            out.emit(f"vmv.s.x {totals}, zero")
            self._pieces(it.lanes, lmul, piece)
            if is_float:
                number = out.take_float()
                out.emit(f"vfmv.f.s {number}, {totals}")
                out.emit(f"fsw {number}, 0({self._scratch})")
                out.give_float(number)
            else:
                with out.registers(1) as (number,):
                    out.emit(f"vmv.x.s {number}, {totals}")
                    out.emit(f"sw {number}, 0({self._scratch})")
            out.add(self._scratch, 4)
            self._move(rows, 1)

        dot = None if it.sums else dots.read(it.step, rows, it.lanes, self._vlen)
        if dot is not None:
            dots.Dots(out, dot, self._addresses, self._scratch).write(rows)
        else:
            with out.registers(1) as (one,):
                out.set(one, 1)
                out.emit(f"vsetvli zero, {one}, e32, m1, ta, ma")
            out.repeat(rows.extent, row)
            self._move(rows, -rows.extent)
        out.add(self._scratch, -4 * rows.extent)
        lmul = self._lmul(it.epilogue, step=False)
        *free, group = range(_REGISTERS // lmul)

        def behind(lanes: Lanes) -> None:
            out.emit(f"vle32.v v{group * lmul}, ({self._scratch})")
            out.add(self._scratch, 4 * lanes.count)
            self._emit(it.epilogue, group, free, lanes)

        self._pieces(rows, lmul, behind)
        out.add(self._scratch, -4 * rows.extent)

    def _lmul(self, nodes: tuple[Node, ...], step: bool = True) -> int:
        """Returns the largest groups that are enough for these nodes, for a step, and for places."""
        held = len(self._it.anywhere)
        for lmul in (8, 4, 2, 1):
            groups = [epilogue.temporaries(nodes, lmul)] if nodes else [1]
            if step:
                more = 0 if nodes else 1
                groups.append(epilogue.temporaries(self._it.step, lmul, stores=False) + more)
            groups.append(places.TEMPORARIES if held else 0)
            if max(groups) + held < _REGISTERS // lmul:
                return lmul
        raise Unsupported("registers")

    def _emit(
        self,
        nodes: tuple[Node, ...],
        group: int,
        free: list[int],
        lanes: Lanes,
        stores: bool = True,
    ) -> None:
        at = self._addresses.__getitem__
        epilogue.emit(self._out, nodes, group, list(free), at, lanes, self._constants, stores)
