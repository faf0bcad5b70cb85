"""Writes the kernels of reductions. Lanes are results, or they are summed (`Reduction.across`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bmc.kernels.epilogue import one_row
from bmc.kernels.epilogue.constants import hoisted
from bmc.kernels.problem.product import LANES, RESULT, Loop, Node, strided
from bmc.kernels.problem.reduction import Reduction
from bmc.kernels.schedule import dot, gather
from bmc.kernels.tree import loops, rvv
from bmc.kernels.tree.assembly import Assembly, Constants, Kernel
from bmc.kernels.tree.vectors import REGISTERS, Lanes
from bmc.kernels.unsupported import Unsupported

_FLOATS = 31
# Integer registers for lengths, large strides, and loop counters.
_COUNTERS = 10
# Iterations of an innermost loop that is unrolled completely, at most.
_UNROLLED = 4
# Instructions that sum lanes, by dtype.
_REDUCTIONS = {"f32": "vfredusum", "i32": "vredsum"}


def write(reduction: Reduction, vlen: int) -> Kernel:
    """Returns a kernel for harts with a VLEN of at least `vlen` bits.

    Raises:
      Unsupported: an operation is not supported, or there are not enough registers.
    """
    return _Writer(reduction, vlen).kernel()


class _Writer:
    """Writes one kernel."""

    def __init__(self, reduction: Reduction, vlen: int) -> None:
        self._reduction = reduction
        self._vlen = vlen
        self._out = Assembly(len(reduction.dtypes) - RESULT)
        self._addresses = dict(enumerate(self._out.arguments, RESULT))
        self._pointers = loops.Pointers(self._addresses.items())
        self._scratch = self._out.argument() if reduction.across else ""
        self._start_offsets = (LANES,) if reduction.lanes_move else ()
        self._first = self._out.argument() if self._start_offsets else ""
        self._constants: Constants = {}
        # The group with the lanes' offsets, for each gathered operand.
        self._offsets: dict[int, str] = {}

    def kernel(self) -> Kernel:
        out, reduction = self._out, self._reduction
        self._constants = hoisted(out, self._nodes(), _FLOATS - 1, _COUNTERS)
        *outer, rows = reduction.outer or (Loop(1, (0,) * len(reduction.dtypes)),)
        if reduction.across:
            self._repeat(outer, lambda: self._lanes_are_summed(rows))
        else:
            self._repeat(list(reduction.outer), self._lanes_are_results)
        scratch = rows.extent * 4 if reduction.across else 0
        return out.kernel(scratch, start_offsets=self._start_offsets)

    def _nodes(self) -> tuple[Node, ...]:
        """Returns the nodes of step and epilogue."""
        count = len(self._reduction.step)
        epilogue = (
            replace(node, args=tuple(arg + count for arg in node.args))
            for node in self._reduction.epilogue
        )
        return (*self._reduction.step, *epilogue)

    def _repeat(self, around: Sequence[Loop], body: Callable[[], None]) -> None:
        is_short = bool(around) and around[-1].extent <= _UNROLLED
        loops.repeat(self._out, self._pointers, around, body, around[-1].extent if is_short else 1)

    def _move(self, loop: Loop, iterations: int) -> None:
        self._pointers.move(self._out, loop, iterations)

    def _pieces(self, lanes: Loop, lmul: int, piece: Callable[[Lanes], None]) -> None:
        """Emits `piece` for all pieces of the loop `lanes` in groups of `lmul` registers; the addresses stay."""
        out = self._out
        widest = lmul * self._vlen // 32
        whole, left = divmod(lanes.extent, widest)
        gaps = strided(self._reduction.dtypes, lanes, range(RESULT, len(self._reduction.dtypes)))
        with out.registers(1) as (length,), out.registers(bool(self._offsets)) as first:

            def emit_piece(count: int) -> None:
                out.set(length, count)
                shape = Lanes(count, lmul, length, gaps, self._offsets)
                out.use(shape, 32)
                if first:
                    gather.write(out, self._reduction.grid, self._offsets, shape, first[0])
                    out.add(first[0], count)
                piece(shape)
                self._move(lanes, count)

            if first:
                if self._start_offsets:
                    out.move(first[0], self._first)
                else:
                    out.set(first[0], 0)
            if whole:
                out.repeat(whole, lambda: emit_piece(widest))
            if left:
                emit_piece(left)
        self._move(lanes, -lanes.extent)

    def _lanes_are_results(self) -> None:
        """Emits all results of one iteration of the outer loops, as lanes."""
        reduction = self._reduction
        lmul = self._lmul(reduction.epilogue)
        vectors = self._out.vectors
        # Below the accumulator, which each piece takes.
        group = vectors.take(lmul)
        self._offsets = {operand: vectors.take(lmul) for operand in reduction.gathered}
        vectors.give(group)

        def piece(lanes: Lanes) -> None:
            self._emit(reduction.epilogue, self._sum(lanes), lanes)

        self._pieces(reduction.lanes, lmul, piece)
        vectors.give(*self._offsets.values())

    def _sum(self, lanes: Lanes) -> str:
        """Emits the sums of a group of lanes, and returns the accumulator."""
        group = self._out.vectors.take(lanes.lmul)
        self._out.emit(rvv.zeros(group))
        step = self._reduction.step
        self._repeat(self._reduction.summed, lambda: self._emit(step, group, lanes, stores=False))
        return group

    def _lanes_are_summed(self, rows: Loop) -> None:
        """Emits a loop over results, each of which sums lanes into scratch memory, then the epilogue of all of them."""
        out, reduction = self._out, self._reduction
        lmul = self._lmul(())
        is_float = reduction.step[0].dtype == "f32"

        def row() -> None:
            # A group, of which the first register holds the sum of all lanes.
            accumulator, totals = out.vectors.take(lmul), out.vectors.take(lmul)
            out.vectors.give(accumulator)

            def piece(lanes: Lanes) -> None:
                group = self._sum(lanes)
                mnemonic = _REDUCTIONS[reduction.step[0].dtype]
                out.emit(rvv.reduce(mnemonic, totals, group, totals))
                out.vectors.give(group)

            out.emit(rvv.zero_first(totals))
            self._pieces(reduction.lanes, lmul, piece)
            if is_float:
                number = out.take_float()
                out.emit(rvv.first_float(number, totals))
                out.emit(rvv.store_float(number, 0, self._scratch))
                out.give_float(number)
            else:
                with out.registers(1) as (number,):
                    out.emit(rvv.first_integer(number, totals))
                    out.emit(rvv.store_word(number, 0, self._scratch))
            out.vectors.give(totals)
            out.add(self._scratch, 4)
            self._move(rows, 1)

        product: dot.Dot | None = None
        if not reduction.summed:
            product = dot.read(reduction.step, rows, reduction.lanes, self._vlen)
        if product is not None:
            dot.DotWriter(out, product, self._addresses, self._scratch).write(rows)
        else:
            with out.registers(1) as (single,):
                out.set(single, 1)
                out.emit(rvv.set_lanes(single, 32, "m1"))
            out.repeat(rows.extent, row)
            self._move(rows, -rows.extent)
        out.add(self._scratch, -4 * rows.extent)
        lmul = self._lmul(reduction.epilogue, step=False)

        def epilogue(lanes: Lanes) -> None:
            group = out.vectors.take(lmul)
            out.emit(rvv.transfer(False, 32, group, self._scratch))
            out.add(self._scratch, 4 * lanes.count)
            self._emit(reduction.epilogue, group, lanes)

        self._pieces(rows, lmul, epilogue)
        out.add(self._scratch, -4 * rows.extent)

    def _lmul(self, nodes: tuple[Node, ...], step: bool = True) -> int:
        """Returns the largest LMUL for which there are enough registers: for `nodes`, a step if `step`, and offsets."""
        offsets = len(self._reduction.gathered)
        for lmul in (8, 4, 2, 1):
            groups = [one_row.temporaries(nodes, lmul)] if nodes else [1]
            if step:
                # Without nodes, lanes are summed, which takes a group.
                total_group = 0 if nodes else 1
                groups.append(
                    one_row.temporaries(self._reduction.step, lmul, stores=False) + total_group
                )
            groups.append(gather.TEMPORARIES if offsets else 0)
            if max(groups) + offsets < REGISTERS // lmul:
                return lmul
        raise Unsupported("a reduction that needs too many vector registers")

    def _emit(self, nodes: tuple[Node, ...], group: str, lanes: Lanes, stores: bool = True) -> None:
        """Emits nodes; arguments as in one_row.emit()."""
        operands = self._addresses.__getitem__
        constants = self._constants
        one_row.emit(self._out, nodes, group, operands, lanes, constants, stores, multiplied=False)
