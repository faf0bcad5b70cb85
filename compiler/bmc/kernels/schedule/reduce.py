"""Writes the kernels of reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bmc.kernels.epilogue import one_row
from bmc.kernels.epilogue.constants import Constants, hoisted
from bmc.kernels.problem.product import LANES, RESULT, Loop, Node, Unsupported, strided
from bmc.kernels.problem.reduction import Reduction
from bmc.kernels.schedule import dot, gather
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly, Kernel
from bmc.kernels.tree.lanes import Lanes

_REGISTERS = 32
_FLOATS = 31
# Integer registers for lengths, distances, and the turns of loops.
_COUNTERS = 10
# Turns of a loop that are written one after the other.
_UNROLLED = 4
# What adds up lanes.
_ACROSS_LANES = {"f32": "vfredusum", "i32": "vredsum"}


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
        self._start_offsets = (LANES,) if found.lanes_move else ()
        self._first = self._out.argument() if self._start_offsets else ""
        self._constants: Constants = {}
        # The groups with the offsets of operands.
        self._offsets: dict[int, int] = {}

    def kernel(self) -> Kernel:
        out, it = self._out, self._it
        self._constants = hoisted(out, self._nodes(), _FLOATS - 1, _COUNTERS)
        *outer, rows = it.outer or (Loop(1, (0,) * len(it.dtypes)),)
        if it.across:
            self._over(outer, lambda: self._across(rows))
        else:
            self._over(list(it.outer), self._lines)
        scratch = rows.extent * 4 if it.across else 0
        return out.kernel(scratch, start_offsets=self._start_offsets)

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
        gaps = strided(self._it.dtypes, lanes, range(RESULT, len(self._it.dtypes)))
        with out.registers(1) as (length,), out.registers(bool(self._offsets)) as first:

            def several(count: int) -> None:
                out.set(length, count)
                at = Lanes(count, lmul, length, gaps, self._offsets)
                at.use(out, 32)
                if first:
                    gather.write(out, self._it.grid, self._offsets, at, first[0])
                    out.add(first[0], count)
                piece(at)
                self._move(lanes, count)

            if first:
                if self._start_offsets:
                    out.move(first[0], self._first)
                else:
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
        self._offsets = {operand: free.pop() for operand in it.gathered}

        def piece(lanes: Lanes) -> None:
            self._out.emit(rvv.zeros(f"v{group * lmul}"))
            self._over(
                it.summed, lambda: self._emit(self._it.step, group, free, lanes, stores=False)
            )
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
            out.emit(rvv.zeros(f"v{group * lmul}"))
            self._over(
                it.summed, lambda: self._emit(self._it.step, group, free, lanes, stores=False)
            )
            mnemonic = _ACROSS_LANES[it.step[0].dtype]
            out.emit(rvv.reduce(mnemonic, totals, f"v{group * lmul}", totals))

        def row() -> None:
            out.emit(rvv.zero_first(totals))
            self._pieces(it.lanes, lmul, piece)
            if is_float:
                number = out.take_float()
                out.emit(rvv.first_float(number, totals))
                out.emit(rvv.store_float(number, 0, self._scratch))
                out.give_float(number)
            else:
                with out.registers(1) as (number,):
                    out.emit(rvv.first_integer(number, totals))
                    out.emit(rvv.store_word(number, 0, self._scratch))
            out.add(self._scratch, 4)
            self._move(rows, 1)

        found = None if it.summed else dot.read(it.step, rows, it.lanes, self._vlen)
        if found is not None:
            dot.DotWriter(out, found, self._addresses, self._scratch).write(rows)
        else:
            with out.registers(1) as (one,):
                out.set(one, 1)
                out.emit(rvv.set_lanes(one, 32, "m1"))
            out.repeat(rows.extent, row)
            self._move(rows, -rows.extent)
        out.add(self._scratch, -4 * rows.extent)
        lmul = self._lmul(it.epilogue, step=False)
        *free, group = range(_REGISTERS // lmul)

        def behind(lanes: Lanes) -> None:
            out.emit(rvv.transfer(False, 32, f"v{group * lmul}", self._scratch))
            out.add(self._scratch, 4 * lanes.count)
            self._emit(it.epilogue, group, free, lanes)

        self._pieces(rows, lmul, behind)
        out.add(self._scratch, -4 * rows.extent)

    def _lmul(self, nodes: tuple[Node, ...], step: bool = True) -> int:
        """Returns the largest groups that are enough for these nodes, for a step, and for offsets."""
        held = len(self._it.gathered)
        for lmul in (8, 4, 2, 1):
            groups = [one_row.temporaries(nodes, lmul)] if nodes else [1]
            if step:
                more = 0 if nodes else 1
                groups.append(one_row.temporaries(self._it.step, lmul, stores=False) + more)
            groups.append(gather.TEMPORARIES if held else 0)
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
        one_row.emit(self._out, nodes, group, list(free), at, lanes, self._constants, stores)
