"""Kernels that compute each element from one element of each operand, or only move elements.

IREE moves bytes one at a time where their order changes, and at most a few registers of anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.epilogue import one_row
from bmc.kernels.epilogue.constants import Constants, hoisted
from bmc.kernels.problem.elementwise import Elementwise
from bmc.kernels.problem.product import RESULT, Loop, Unsupported, has_only_halves, strided
from bmc.kernels.schedule.choice import DEFAULT, Choice
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly, Kernel
from bmc.kernels.tree.lanes import Lanes, transfer

_REGISTERS = 32
_FLOATS = 31
# Integer registers for lengths, distances, and the turns of loops.
_COUNTERS = 8
# With more operands, their addresses are in memory.
_MOST_ARGUMENTS = 8
# Lines of lanes in one turn of the innermost loop, if they only move.
_TURNS = 4


def write(elementwise: Elementwise, vlen: int, xlen: int, choice: Choice = DEFAULT) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits.

    Raises:
      Unsupported: there are operations or operands that a kernel cannot have.
    """
    return _Writer(elementwise, vlen, xlen, choice).kernel()


class _Writer:
    def __init__(self, elementwise: Elementwise, vlen: int, xlen: int, choice: Choice) -> None:
        self._it = elementwise
        self._word = xlen // 8
        operands = range(RESULT, len(elementwise.dtypes))
        self._in_memory = len(operands) > _MOST_ARGUMENTS
        self._out = Assembly(1 if self._in_memory else len(operands))
        # What moves from lanes to lanes, by an operand that moves like it: its address, or the distance from where it
        # began, which several operands share.
        self._moving = dict(zip(operands, self._out.arguments, strict=False))
        if self._in_memory:
            self._moving = {
                number: self._out.register() for number in self._distances(operands).values()
            }
            self._address = self._out.register()
        nodes = elementwise.nodes
        # Elements that only move keep their width.
        self._moves = len(nodes) == 1 and nodes[0].op == "load"
        self._bits = 8 * WIDTHS[nodes[0].dtype] if self._moves or has_only_halves(nodes) else 32
        fits = [
            lmul
            for lmul in ((choice.lmul,) if choice.lmul else (8, 4, 2, 1))
            if self._moves or one_row.temporaries(nodes, lmul) <= _REGISTERS // lmul
        ]
        if not fits:
            raise Unsupported("registers")
        # Elements that are no neighbors take cycles for all lanes of a group, also for those that are not in use.
        enough = [lmul for lmul in fits if lmul * vlen >= elementwise.lanes.extent * self._bits]
        self._lmul = (enough or fits[:1])[-1]
        self._widest = self._lmul * vlen // self._bits
        self._strided = strided(
            elementwise.dtypes, elementwise.lanes, range(RESULT, len(elementwise.dtypes))
        )
        self._constants: Constants = {}

    def kernel(self) -> Kernel:
        out = self._out
        if self._in_memory:
            for register in self._moving.values():
                out.set(register, 0)
        self._constants = hoisted(out, self._it.nodes, _FLOATS, _COUNTERS)
        whole, left = divmod(self._it.lanes.extent, self._widest)
        with out.registers(1) as (length,):
            count = left or self._widest
            lanes = Lanes(count, self._lmul, length, self._strided, bits=self._bits)
            if whole + bool(left) == 1:
                self._use(lanes)
                self._over(self._it.outer, 0, lambda: self._piece(lanes))
            else:

                def line() -> None:
                    if whole:
                        full = replace(lanes, count=self._widest)
                        self._use(full)
                        out.repeat(whole, lambda: self._move(full))
                    if left:
                        self._use(lanes)
                        self._move(lanes)

                self._over(self._it.outer, self._it.lanes.extent, line)
        return out.kernel(in_memory=self._in_memory)

    def _distances(self, operands: range) -> dict[tuple[int, ...], int]:
        """Returns an operand for each way in which some of them move."""
        loops = (*self._it.outer, self._it.lanes)
        strides = {tuple(loop.strides[n] for loop in loops): n for n in operands}
        return {each: number for each, number in strides.items() if any(each)}

    def _at(self, operand: int) -> str:
        """Returns the register with an operand's address."""
        out = self._out
        if not self._in_memory:
            return self._moving[operand]
        loops = (*self._it.outer, self._it.lanes)
        place = (operand - RESULT) * self._word
        out.emit(rvv.load_integer(8 * self._word, self._address, place, out.arguments[0]))
        for number, distance in self._moving.items():
            if all(loop.strides[number] == loop.strides[operand] for loop in loops):
                out.emit(rvv.add(self._address, self._address, distance))
        return self._address

    def _use(self, lanes: Lanes) -> None:
        self._out.set(lanes.length, lanes.count)
        lanes.use(self._out, self._bits)

    def _over(self, loops: tuple[Loop, ...], moved: int, line: Callable[[], None]) -> None:
        """Runs over all lines of lanes; each moves the addresses by so many lanes."""
        if not loops:
            line()
            return
        first, *rest = loops
        inner = rest[0] if rest else self._it.lanes
        done = inner.extent if rest else moved

        def body() -> None:
            self._over(tuple(rest), moved, line)
            for number, address in self._moving.items():
                self._out.add(address, first.strides[number] - done * inner.strides[number])

        def several(times: int) -> None:
            for _ in range(times):
                body()

        times = _TURNS if self._moves and not rest else 1
        turns, left = divmod(first.extent, times)
        if turns:
            self._out.repeat(turns, lambda: several(times))
        several(left)

    def _move(self, lanes: Lanes) -> None:
        """Emits some lanes, and moves to those behind them."""
        self._piece(lanes)
        for number, address in self._moving.items():
            self._out.add(address, lanes.count * self._it.lanes.strides[number])

    def _piece(self, lanes: Lanes) -> None:
        if not self._moves:
            groups = list(range(_REGISTERS // self._lmul))
            one_row.emit(self._out, self._it.nodes, -1, groups, self._at, lanes, self._constants)
            return
        number = self._it.nodes[0].operand
        for store, operand in ((False, number), (True, RESULT)):
            address = self._at(operand)
            transfer(self._out, store, self._bits, 0, operand, address, lanes)
