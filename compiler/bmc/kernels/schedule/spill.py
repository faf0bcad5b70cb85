"""What sums of rows begin with, and how they wait in memory, for more of them or for what follows."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.kernels.epilogue.constants import Constants
from bmc.kernels.epilogue.rows import emit
from bmc.kernels.problem.product import RESULT, Loop, Product
from bmc.kernels.schedule.row_block import REGISTERS, Block
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.lanes import Lanes


@dataclass(frozen=True)
class Spill:
    """Writes their beginning, and what stores and loads them.

    Attributes:
      out: receives the text.
      product: what is computed.
      bases: registers with the operands' addresses.
      inner_rows: the innermost loop of rows.
      moving: operands that move from row to row.
      constants: registers with the epilogue's floats.
      vlen: the smallest VLEN in bits.
      address: register with the address of a row of sums.
    """

    out: Assembly
    product: Product
    bases: list[str]
    inner_rows: Loop
    moving: list[int]
    constants: Constants
    vlen: int
    address: str

    @property
    def width(self) -> int:
        """Bytes of a sum."""
        return self.product.scheme.bits // 8

    def start(self, registers: list[int]) -> None:
        """Emits what the sums of rows are before anything is added; they are in groups with these first registers."""
        out = self.out
        initial = self.product.initial
        first, *others = [f"v{register}" for register in registers]
        if initial is None:
            for register in (first, *others):
                out.emit(rvv.zeros(register))
        elif self.product.lanes.strides[initial]:
            out.emit(rvv.transfer(False, self.product.scheme.bits, first, self.bases[initial]))
            for register in others:
                out.emit(rvv.copy(register, first))
        else:
            with out.registers(1) as (number,):
                for row, register in enumerate((first, *others)):
                    # A float's bits are an integer's.
                    place = row * self.inner_rows.strides[initial]
                    out.load(number, place, self.bases[initial], self.product.scheme.bits)
                    out.emit(rvv.splat(register, number))

    def store(self, block: Block) -> None:
        """Emits the stores of a block, and leaves the address as it was."""
        self._each(block, store=True)

    def load(self, block: Block) -> None:
        """Emits the loads of a block, and leaves the address as it was."""
        self._each(block, store=False)

    def _each(self, block: Block, *, store: bool) -> None:
        with self.out.registers(1) as (place,):
            self.out.move(place, self.address)
            for register in block.registers:
                self.out.emit(rvv.transfer(store, self.product.scheme.bits, f"v{register}", place))
                self.out.add(place, block.lanes.count * self.width)

    def fill(self, lanes: Lanes, rows: int) -> None:
        """Emits the stores of what so many rows of sums begin with, and leaves the address as it was."""
        self.start([0])

        def row() -> None:
            self.out.emit(rvv.transfer(True, self.product.scheme.bits, "v0", self.address))
            self.out.add(self.address, lanes.count * self.width)

        self.out.repeat(rows, row)
        self.back(lanes, rows)

    def back(self, lanes: Lanes, rows: int) -> None:
        """Moves the address so many rows back."""
        self.out.add(self.address, -rows * lanes.count * self.width)

    def row(self, count: int, lmul: int) -> None:
        """Emits the epilogue of a row of so many sums, in groups of `lmul` registers, and moves to the next one."""
        widest = lmul * self.vlen // self.product.scheme.bits
        whole, left = divmod(count, widest)
        if whole:
            self.out.repeat(whole, lambda: self._piece(widest, lmul))
        if left:
            self._piece(left, lmul)
        strides = self.product.lanes.strides
        for number in range(RESULT, len(self.bases)):
            moved = self.inner_rows.strides[number] if number in self.moving else 0
            self.out.add(self.bases[number], moved - count * strides[number])

    def _piece(self, count: int, lmul: int) -> None:
        """Emits the epilogue of some lanes, and moves to those behind them."""
        out = self.out
        *free, group = range(REGISTERS // lmul)
        with out.registers(1) as (length,):
            out.set(length, count)
            bits = self.product.scheme.bits
            lanes = Lanes(count, lmul, length, self.product.strided, bits=bits)
            lanes.use(out, bits)
            out.emit(rvv.transfer(False, bits, f"v{group * lmul}", self.address))
            out.add(self.address, count * self.width)
            addresses, nodes = self.bases.__getitem__, self.product.epilogue
            emit(out, nodes, [group], free, addresses, lanes, self.constants, {})
        for number in range(RESULT, len(self.bases)):
            out.add(self.bases[number], count * self.product.lanes.strides[number])
