"""Writes products of int8 with weights of int4, which stay packed in memory (dtypes.py) and are widened in registers.

A product of both has at most 11 bits of magnitude, so 32 of them are added up in 16 bits before they are added to the
sums: an instruction multiplies twice the lanes of one that adds up 32 bits. Of 32 products, the sum is at least
32 * 127 * -8 = -32,512 and at most 32 * -128 * -8 = 32,768. It begins at -1 to fit into 16 bits, and the sums begin
with 1 for each time that this happens.

The sums of a block of rows are in scratch memory, because there are too few registers for them. So are those of 16 bits
while their upper lanes are widened: a hart with a larger VLEN has these lanes in other registers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from bmc.kernels.epilogue import one_row
from bmc.kernels.epilogue.constants import Constants, hoisted
from bmc.kernels.problem.product import RESULT, A, B, Loop, Product, Unsupported
from bmc.kernels.problem.roles import merged
from bmc.kernels.schedule.panels import LMULS
from bmc.kernels.schedule.row_block import REGISTERS
from bmc.kernels.schedule.spill import Spill
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly, Kernel, TooManyRegisters
from bmc.kernels.tree.lanes import Lanes
from bmc.kernels.tree.tree import fits

# Bytes of a lane whose products are added up in 16 bits, at most. Each has two weights.
_MOST_PAIRS = 16
# Registers of a group of packed weights. Sums of 16 bits have twice as many.
_LMULS = (4, 2, 1)
# Numbers of `a` that are in registers at a time.
_MOST_NUMBERS = 4
# Registers for the epilogue's floats.
_FLOATS = 31


def write(product: Product, vlen: int) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits.

    Raises:
      Unsupported: it is no product with weights that are packed so, or the epilogue needs too much.
      TooManyRegisters: too many operands or loops.
    """
    found = []
    problem: Unsupported = TooManyRegisters()
    for lmul in _LMULS:
        for rows in range(REGISTERS // (2 * lmul) - 1, 0, -1):
            try:
                found.append(_Int4(product, vlen, lmul, rows).kernel())
                break
            except TooManyRegisters as reason:
                problem = reason
    if not found:
        raise problem
    return min(found, key=lambda kernel: kernel.executed)


@dataclass(frozen=True, slots=True)
class _Panel:
    """Neighboring lanes.

    Attributes:
      lanes: the groups of their sums of 16 bits.
      pieces: what is widened at a time: the number of the first lane, and groups of sums of 32 bits.
      one, minus_one: registers with these numbers.
      step: register with the bytes from pair to pair in `b`, "" if these fit into an instruction.
    """

    lanes: Lanes
    pieces: tuple[tuple[int, Lanes], ...]
    one: str
    minus_one: str
    step: str


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows of a panel.

    Attributes:
      column: register with the address in `b`.
      pointers: registers with addresses in `a`.
      a: for each row, one of these and the bytes from there to its numbers.
    """

    panel: _Panel
    column: str
    pointers: list[str]
    a: list[tuple[str, int]]


class _Int4:
    """Packed weights are in groups of `lmul` registers, and a block has at most `rows` rows."""

    def __init__(self, product: Product, vlen: int, lmul: int, rows: int) -> None:
        none = Loop(1, (0,) * len(product.dtypes))
        *pairs, halves = product.summed or (none,)
        if (
            product.dtypes[: B + 1] != ("i8", "i4")
            or (product.lanes.strides[A], product.lanes.strides[B]) != (0, 1)
            or (halves.extent, halves.strides[B]) != (2, 0)
        ):
            raise Unsupported("weights that are no lanes of packed int4")
        if product.padding is not None:
            raise Unsupported("weights of int4 for an image that is padded")
        if product.initial is not None and not product.lanes.strides[product.initial]:
            raise Unsupported("sums of int4 that start from a number for each row")
        *self._lines, self._inner_rows = product.rows or (none,)
        self._product = product
        self._pairs = merged(pairs) or (none,)
        self._half = halves.strides[A]
        self._reach = _MOST_PAIRS * self._pairs[-1].strides[A] + self._half
        if not fits(self._reach):
            raise Unsupported("numbers that are far apart, for weights of int4")
        self._lmul = lmul
        self._rows = min(rows, self._inner_rows.extent)
        # Lanes of the widest panel, and of a piece of it.
        self._lanes, self._piece = lmul * vlen // 8, lmul * vlen // 16
        self._vlen = vlen
        fitting = [n for n in LMULS if one_row.temporaries(product.epilogue, n) < REGISTERS // n]
        if not fitting:
            raise Unsupported("registers")
        self._epilogue_lmul = fitting[-1]
        self._out = Assembly(len(product.dtypes))
        self._bases = list(self._out.arguments)
        # Sums of 32 bits, and behind them those of 16.
        self._sums = self._out.argument()
        self._narrow = self._out.register()

    def kernel(self) -> Kernel:
        out, product = self._out, self._product
        constants: Constants = hoisted(out, product.epilogue, _FLOATS)
        everything = list(range(RESULT, len(self._bases)))
        self._spill = Spill(
            out,
            product,
            self._bases,
            self._inner_rows,
            everything,
            constants,
            self._vlen,
            self._sums,
        )
        lanes = self._rows * min(self._lanes, product.lanes.extent)
        out.move(self._narrow, self._sums)
        out.add(self._narrow, 4 * lanes)
        self._over([*product.outer], self._panels)
        return out.kernel((4 + 2) * lanes)

    def _over(self, loops: list[Loop], body: Callable[[], None]) -> None:
        """Runs over loops, and leaves the operands' addresses as they were."""
        if not loops:
            body()
            return
        first, *rest = loops

        def turn() -> None:
            self._over(rest, body)
            self._move(first, 1)

        self._out.repeat(first.extent, turn)
        self._move(first, -first.extent)

    def _move(self, loop: Loop, times: int) -> None:
        for base, stride in zip(self._bases, loop.strides, strict=True):
            self._out.add(base, times * stride)

    def _panels(self) -> None:
        loop = self._product.lanes
        whole, left = divmod(loop.extent, self._lanes)
        for count, lanes in ((whole, self._lanes), (1, left)):

            def turn(lanes: int = lanes) -> None:
                self._panel(lanes)
                self._move(loop, lanes)

            if count and lanes:
                self._out.repeat(count, turn)
        self._move(loop, -loop.extent)

    def _panel(self, lanes: int) -> None:
        out, step = self._out, self._pairs[-1].strides[B]
        firsts = range(0, lanes, self._piece)
        counts = [min(self._piece, lanes - first) for first in firsts]
        values = dict.fromkeys((lanes, *counts, 1, -1, *([] if fits(step) else [step])))
        with out.registers(len(values)) as names:
            constants = dict(zip(values, names, strict=True))
            for value, name in constants.items():
                out.set(name, value)
            pieces = [Lanes(count, 2 * self._lmul, constants[count]) for count in counts]
            panel = _Panel(
                Lanes(lanes, 2 * self._lmul, constants[lanes], bits=16),
                tuple(zip(firsts, pieces, strict=True)),
                constants[1],
                constants[-1],
                constants.get(step, ""),
            )
            self._over(self._lines, lambda: self._blocks(panel))

    def _blocks(self, panel: _Panel) -> None:
        loop = self._inner_rows
        blocks = math.ceil(loop.extent / self._rows)
        rows, more = divmod(loop.extent, blocks)
        if more:
            self._out.repeat(more, lambda: self._block(rows + 1, panel))
        self._out.repeat(blocks - more, lambda: self._block(rows, panel))
        self._move(loop, -loop.extent)

    def _block(self, rows: int, panel: _Panel) -> None:
        out = self._out
        self._fill(rows, panel)
        # The smallest distance of a row in `a` that each pointer serves, and the distance of each row from it.
        starts: list[int] = []
        numbers: list[tuple[int, int]] = []
        for row in range(rows):
            distance = row * self._inner_rows.strides[A]
            if not starts or not fits(distance - starts[-1] + self._reach):
                starts.append(distance)
            numbers.append((len(starts) - 1, distance - starts[-1]))
        with out.registers(len(starts) + 1) as (column, *pointers):
            out.move(column, self._bases[B])
            for start, pointer in zip(starts, pointers, strict=True):
                out.move(pointer, self._bases[A])
                out.add(pointer, start)
            a = [(pointers[number], offset) for number, offset in numbers]
            self._summed(self._pairs, _Block(panel, column, pointers, a))
        lanes = panel.lanes.count
        out.repeat(rows, lambda: self._spill.row(lanes, self._epilogue_lmul))
        self._spill.back(panel.lanes, rows)
        out.add(self._bases[A], rows * self._inner_rows.strides[A])

    def _fill(self, rows: int, panel: _Panel) -> None:
        """Emits the stores of what the sums of some rows begin with."""
        out = self._out
        *others, pairs = (loop.extent for loop in self._pairs)
        initial = self._product.initial
        with out.registers(2) as (place, count):
            out.set(count, math.prod(others) * math.ceil(pairs / _MOST_PAIRS))
            for first, piece in panel.pieces:
                piece.use(out, 32)
                moved = first * self._product.lanes.strides[initial] if initial is not None else 0
                if initial is not None:
                    out.add(self._bases[initial], moved)
                self._spill.start([0])
                if initial is not None:
                    out.add(self._bases[initial], -moved)
                out.emit(rvv.binary("vadd", "v0", "v0", count))
                out.move(place, self._sums)
                out.add(place, 4 * first)
                for _ in range(rows):
                    out.emit(rvv.transfer(True, 32, "v0", place))
                    out.add(place, 4 * panel.lanes.count)

    def _summed(self, loops: tuple[Loop, ...], block: _Block) -> None:
        """Runs over the bytes of a lane."""
        out = self._out
        first, *rest = loops
        if not rest:
            whole, left = divmod(first.extent, _MOST_PAIRS)
            if whole:
                out.repeat(whole, lambda: self._group(_MOST_PAIRS, block))
            if left:
                self._group(left, block)
            return

        def turn() -> None:
            self._summed(tuple(rest), block)
            for number, registers in ((A, block.pointers), (B, [block.column])):
                done = rest[0].extent * rest[0].strides[number]
                for register in registers:
                    out.add(register, first.strides[number] - done)

        out.repeat(first.extent, turn)

    def _group(self, pairs: int, block: _Block) -> None:
        """Emits some pairs, whose products are added up in 16 bits, and adds them to the sums."""
        out, panel, m = self._out, block.panel, self._lmul
        loop = self._pairs[-1]
        rows = range(len(block.a))
        # Registers from 0 on are free: a group of packed weights becomes the upper ones, another one the lower ones.
        narrow = [f"v{REGISTERS - 2 * m * (row + 1)}" for row in rows]
        panel.lanes.use(out, 16)
        for group in narrow:
            out.emit(rvv.splat(group, panel.minus_one))
        panel.lanes.use(out, 8)
        for pair in range(pairs):
            at = pair * loop.strides[A]
            out.emit(rvv.transfer(False, 8, "v0", block.column))
            out.add(block.column, loop.strides[B], panel.step)
            out.emit(rvv.binary_immediate("vsll", f"v{m}", "v0", 4))
            out.emit(rvv.binary_immediate("vsra", f"v{m}", f"v{m}", 4))
            self._multiply(f"v{m}", at, block, narrow)
            out.emit(rvv.binary_immediate("vsra", "v0", "v0", 4))
            self._multiply("v0", at + self._half, block, narrow)
        for pointer in block.pointers:
            out.add(pointer, pairs * loop.strides[A])
        self._widen(panel, narrow)

    def _multiply(self, weights: str, at: int, block: _Block, narrow: list[str]) -> None:
        """Multiplies a group with a number of each row, which is so many bytes behind what its pointer serves."""
        out = self._out
        for first in range(0, len(narrow), _MOST_NUMBERS):
            rows = range(first, min(first + _MOST_NUMBERS, len(narrow)))
            with out.registers(len(rows)) as numbers:
                for row, number in zip(rows, numbers, strict=True):
                    pointer, offset = block.a[row]
                    out.emit(rvv.load_number("i8", number, offset + at, pointer))
                for row, number in zip(rows, numbers, strict=True):
                    multiply = self._product.scheme.multiply
                    out.emit(rvv.multiply_add(multiply, narrow[row], number, weights))

    def _widen(self, panel: _Panel, narrow: list[str]) -> None:
        """Adds sums of 16 bits to those of 32 bits."""
        out = self._out
        several = len(panel.pieces) > 1
        with out.registers(1 + several) as (place, *others):
            for other in others:
                out.move(other, self._narrow)
                for group in narrow:
                    out.emit(rvv.transfer(True, 16, group, other))
                    out.add(other, 2 * panel.lanes.count)
                # To the second piece of the first row.
                out.move(other, self._narrow)
                out.add(other, 2 * self._piece)
            out.move(place, self._sums)
            length = ""
            for group in narrow:
                for first, piece in panel.pieces:
                    if piece.length != length:
                        piece.use(out, 16)
                        length = piece.length
                    if first:
                        out.emit(rvv.transfer(False, 16, group, others[0]))
                        out.add(others[0], 2 * panel.lanes.count)
                    out.emit(rvv.transfer(False, 32, "v0", place))
                    out.emit(rvv.multiply_add("vwmacc", "v0", panel.one, group))
                    out.emit(rvv.transfer(True, 32, "v0", place))
                    out.add(place, 4 * piece.count)
