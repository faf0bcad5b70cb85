"""Initializes accumulators, and spills them: between K blocks, or before an epilogue that needs their registers."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.kernels.epilogue import one_row
from bmc.kernels.problem.product import RESULT, Loop, Product
from bmc.kernels.schedule.row_block import Block
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly, Constants
from bmc.kernels.tree.vectors import Lanes


@dataclass(frozen=True)
class Spill:
    """Writes the initial values, stores and loads of accumulators.

    Attributes:
      out: receives the instructions.
      product: the product.
      bases: registers with the addresses of the operands.
      inner_rows: the innermost row loop.
      moving: operands that change from row to row.
      constants: float registers with constants of the epilogue.
      vlen: the smallest VLEN in bits.
      address: register with the address of the next spilled accumulator; it moves as rows are processed.
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
        """Bytes of one lane of an accumulator."""
        return self.product.scheme.bits // 8

    def start(self, groups: list[str]) -> None:
        """Emits the initial values of accumulators."""
        out = self.out
        initial = self.product.initial
        first, *others = groups
        if initial is None:
            for group in groups:
                out.emit(rvv.zeros(group))
        elif self.product.lanes.strides[initial]:
            out.emit(rvv.transfer(False, self.product.scheme.bits, first, self.bases[initial]))
            for group in others:
                out.emit(rvv.copy(group, first))
        else:
            with out.registers(1) as (number,):
                for row, group in enumerate(groups):
                    # The type does not matter: an integer register holds the bits of floats as well.
                    offset = row * self.inner_rows.strides[initial]
                    out.load(number, offset, self.bases[initial], self.product.scheme.bits)
                    out.emit(rvv.splat(group, number))

    def store(self, block: Block) -> None:
        """Emits the spill of a row block's accumulators; `address` stays."""
        self._transfer(block, store=True)

    def load(self, block: Block) -> None:
        """Emits the loads of a row block's spilled accumulators; `address` stays."""
        self._transfer(block, store=False)

    def _transfer(self, block: Block, *, store: bool) -> None:
        with self.out.registers(1) as (address,):
            self.out.move(address, self.address)
            for group in block.accumulators:
                self.out.emit(rvv.transfer(store, self.product.scheme.bits, group, address))
                self.out.add(address, block.lanes.count * self.width)

    def fill(self, lanes: Lanes, rows: int) -> None:
        """Emits the spill of the initial values of `rows` accumulators; `address` stays."""
        group = self.out.vectors.take(lanes.lmul, lowest=True)
        self.start([group])

        def row() -> None:
            self.out.emit(rvv.transfer(True, self.product.scheme.bits, group, self.address))
            self.out.add(self.address, lanes.count * self.width)

        self.out.repeat(rows, row)
        self.out.vectors.give(group)
        self.back(lanes, rows)

    def back(self, lanes: Lanes, rows: int) -> None:
        """Moves `address` back by `rows` accumulators."""
        self.out.add(self.address, -rows * lanes.count * self.width)

    def row(self, count: int, lmul: int) -> None:
        """Emits the epilogue of one spilled accumulator of `count` lanes, and moves to the next row.

        The epilogue runs in pieces of `lmul` registers, which may be fewer than the accumulator's.
        """
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
        """Emits the epilogue of `count` lanes, and moves behind them."""
        out = self.out
        group = out.vectors.take(lmul)
        with out.registers(1) as (length,):
            out.set(length, count)
            bits = self.product.scheme.bits
            lanes = Lanes(count, lmul, length, self.product.strided, bits=bits)
            out.use(lanes, bits)
            out.emit(rvv.transfer(False, bits, group, self.address))
            out.add(self.address, count * self.width)
            operands, nodes = self.bases.__getitem__, self.product.epilogue
            one_row.emit(out, nodes, group, operands, lanes, self.constants)
        for number in range(RESULT, len(self.bases)):
            out.add(self.bases[number], count * self.product.lanes.strides[number])
