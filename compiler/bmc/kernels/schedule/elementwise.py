"""Writes elementwise kernels, including those that only copy elements, such as transpositions.

IREE transposes bytes one at a time, and uses small groups of registers for everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.epilogue import one_row
from bmc.kernels.epilogue.constants import hoisted
from bmc.kernels.problem.elementwise import Elementwise
from bmc.kernels.problem.product import RESULT, has_only_halves, strided
from bmc.kernels.schedule.choice import DEFAULT, Choice
from bmc.kernels.tree import loops, rvv
from bmc.kernels.tree.assembly import Assembly, Constants, Kernel
from bmc.kernels.tree.vectors import REGISTERS, Lanes
from bmc.kernels.unsupported import Unsupported

_FLOATS = 31
# Integer registers for lengths, large strides, and loop counters.
_COUNTERS = 8
# With more operands, their addresses are read from a table in memory.
_MOST_ARGUMENTS = 8
# Iterations of the innermost loop that are unrolled if elements are only copied.
_UNROLLED = 4


def write(elementwise: Elementwise, vlen: int, xlen: int, choice: Choice = DEFAULT) -> Kernel:
    """Returns a kernel for harts with a VLEN of at least `vlen` bits and integer registers of `xlen` bits.

    Raises:
      Unsupported: an operation is not supported, or there are not enough registers.
    """
    return _Writer(elementwise, vlen, xlen, choice).kernel()


class _Writer:
    """Writes one kernel."""

    def __init__(self, elementwise: Elementwise, vlen: int, xlen: int, choice: Choice) -> None:
        self._problem = elementwise
        self._word = xlen // 8
        operands = range(RESULT, len(elementwise.dtypes))
        self._in_memory = len(operands) > _MOST_ARGUMENTS
        self._out = Assembly(1 if self._in_memory else len(operands))
        # Registers that loops advance, by operand: its address. If the addresses are in memory: the byte offset from
        # its first element, in one register for all operands with the same strides.
        self._advancing = dict(zip(operands, self._out.arguments, strict=False))
        if self._in_memory:
            self._advancing = {
                number: self._out.register() for number in self._movements(operands).values()
            }
            self._address = self._out.register()
        self._pointers = loops.Pointers(self._advancing.items())
        nodes = elementwise.nodes
        # Elements that are only copied keep their width.
        self._only_copies = len(nodes) == 1 and nodes[0].op == "load"
        self._bits = (
            8 * WIDTHS[nodes[0].dtype] if self._only_copies or has_only_halves(nodes) else 32
        )
        fits = [
            lmul
            for lmul in ((choice.lmul,) if choice.lmul else (8, 4, 2, 1))
            if self._only_copies or one_row.temporaries(nodes, lmul) <= REGISTERS // lmul
        ]
        if not fits:
            raise Unsupported("an operation that needs too many vector registers")
        # Strided accesses take cycles for unused lanes as well, so groups are not larger than needed.
        sufficient = [lmul for lmul in fits if lmul * vlen >= elementwise.lanes.extent * self._bits]
        self._lmul = (sufficient or fits[:1])[-1]
        self._widest = self._lmul * vlen // self._bits
        self._strided = strided(
            elementwise.dtypes, elementwise.lanes, range(RESULT, len(elementwise.dtypes))
        )
        self._constants: Constants = {}

    def kernel(self) -> Kernel:
        out = self._out
        if self._in_memory:
            for register in self._advancing.values():
                out.set(register, 0)
        self._constants = hoisted(out, self._problem.nodes, _FLOATS, _COUNTERS)
        all_lanes = self._problem.lanes
        whole, left = divmod(all_lanes.extent, self._widest)
        with out.registers(1) as (length,):
            count = left or self._widest
            lanes = Lanes(count, self._lmul, length, self._strided, bits=self._bits)
            if whole + bool(left) == 1:
                self._use(lanes)
                self._repeat(lambda: self._piece(lanes))
            else:

                def emit_lanes() -> None:
                    if whole:
                        full = replace(lanes, count=self._widest)
                        self._use(full)
                        out.repeat(whole, lambda: self._move(full))
                    if left:
                        self._use(lanes)
                        self._move(lanes)
                    self._pointers.move(out, all_lanes, -all_lanes.extent)

                self._repeat(emit_lanes)
        return out.kernel(in_memory=self._in_memory)

    def _movements(self, operands: range) -> dict[tuple[int, ...], int]:
        """Returns one operand for each distinct tuple of strides that are not all zero."""
        loops = (*self._problem.outer, self._problem.lanes)
        strides = {tuple(loop.strides[n] for loop in loops): n for n in operands}
        return {each: number for each, number in strides.items() if any(each)}

    def _operand_address(self, operand: int) -> str:
        """Returns a register with an operand's address; emits its computation if the addresses are in memory."""
        out = self._out
        if not self._in_memory:
            return self._advancing[operand]
        loops = (*self._problem.outer, self._problem.lanes)
        offset = (operand - RESULT) * self._word
        out.emit(rvv.load_integer(8 * self._word, self._address, offset, out.arguments[0]))
        for number, offset_register in self._advancing.items():
            if all(loop.strides[number] == loop.strides[operand] for loop in loops):
                out.emit(rvv.add(self._address, self._address, offset_register))
        return self._address

    def _use(self, lanes: Lanes) -> None:
        """Emits the vsetvli."""
        self._out.set(lanes.length, lanes.count)
        self._out.use(lanes, self._bits)

    def _repeat(self, emit_lanes: Callable[[], None]) -> None:
        """Emits the outer loops."""
        unrolled = _UNROLLED if self._only_copies else 1
        loops.repeat(self._out, self._pointers, self._problem.outer, emit_lanes, unrolled)

    def _move(self, lanes: Lanes) -> None:
        """Emits a piece of the lanes, and moves the addresses behind it."""
        self._piece(lanes)
        self._pointers.move(self._out, self._problem.lanes, lanes.count)

    def _piece(self, lanes: Lanes) -> None:
        """Emits a piece of the lanes."""
        if not self._only_copies:
            nodes, addresses = self._problem.nodes, self._operand_address
            one_row.emit(self._out, nodes, "", addresses, lanes, self._constants)
            return
        number = self._problem.nodes[0].operand
        group = self._out.vectors.take(self._lmul, lowest=True)
        for store, operand in ((False, number), (True, RESULT)):
            address = self._operand_address(operand)
            self._out.transfer(store, self._bits, group, operand, address, lanes)
        self._out.vectors.give(group)
