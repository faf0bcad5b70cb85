"""Writes dot products: reductions across lanes of a product, such as a matrix times a vector.

The vector that all results share is loaded once if it is short enough to stay in registers. int8 products are int16,
so their groups have twice the registers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import Loop, Node
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.vectors import Lanes

# Registers of a group of operands, by dtype; their products have 8 registers.
_LMULS = {"f32": 8, "i8": 4}
# Registers at most for the shared vector if it is loaded once, and registers of the products.
_MOST_HELD, _PRODUCTS = 16, 8
# Iterations of a loop that are unrolled at most.
_UNROLLED = 4
# Modeled cycles by dtype: of a result, of a piece of its operands, and of a step of a kernel whose lanes are results.
_CYCLES = {"f32": (60, 34, 8), "i8": (20, 83, 12)}
_STEPS = {"f32": ["sum", "mulf", "addf"], "i8": ["sum", "muli", "addi"]}


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot product for each result.

    Attributes:
      dtype: "f32" or "i8".
      shared: number of the operand that all results share.
      row: number of the operand with a row for each result.
      lanes: lanes of each of the equal pieces that the operands are cut into.
      pieces: number of pieces.
    """

    dtype: str
    shared: int
    row: int
    lanes: int
    pieces: int


def is_faster(dtype: str, results: int, inner: int, vlen: int) -> bool:
    """Whether dot products are faster than a product whose lanes are results.

    Args:
      dtype: dtype of both operands.
      results: number of results.
      inner: elements that are multiplied for each result.
      vlen: the smallest VLEN in bits.
    """
    if dtype not in _CYCLES:
        return False
    result, piece, step = _CYCLES[dtype]
    pieces = math.ceil(inner / _most_lanes(dtype, vlen))
    return inner % pieces == 0 and results * (result + pieces * piece) <= step * inner


def read(step: tuple[Node, ...], rows: Loop, lanes: Loop, vlen: int) -> Dot | None:
    """Returns the dot product that a reduction is; None if it is none, or cannot be cut into equal pieces.

    Args:
      step: the step of the reduction.
      rows: the loop over results.
      lanes: the loop that is summed.
      vlen: the smallest VLEN in bits.
    """
    loads = [node for node in step if node.op == "load"]
    ops = [node.op for node in step if node.op not in ("load", "extsi")]
    if len(loads) != 2 or loads[0].dtype != loads[1].dtype or _STEPS.get(loads[0].dtype) != ops:
        return None
    dtype = loads[0].dtype
    if any(lanes.strides[node.operand] != WIDTHS[dtype] for node in loads):
        return None
    shared, row = sorted((node.operand for node in loads), key=lambda n: rows.strides[n])
    pieces = math.ceil(lanes.extent / _most_lanes(dtype, vlen))
    if rows.strides[shared] or lanes.extent % pieces:
        return None
    return Dot(dtype, shared, row, lanes.extent // pieces, pieces)


def _most_lanes(dtype: str, vlen: int) -> int:
    """Returns the lanes of a full group."""
    return _LMULS[dtype] * vlen // (8 * WIDTHS[dtype])


class DotWriter:
    """Writes the dot products of a loop over results.

    Args:
      out: receives the instructions.
      dot: the dot product.
      addresses: registers with the operands' addresses, by operand; they are not changed.
      scratch: register with the address for the sums, which moves behind them.
    """

    def __init__(self, out: Assembly, dot: Dot, addresses: dict[int, str], scratch: str) -> None:
        self._out = out
        self._dot = dot
        self._addresses = addresses
        self._scratch = scratch
        self._lmul = _LMULS[dot.dtype]
        self._bits = 8 * WIDTHS[dot.dtype]
        self._step = dot.lanes * WIDTHS[dot.dtype]
        self._is_held = dot.pieces * self._lmul <= _MOST_HELD
        self._products = out.vectors.take(_PRODUCTS)
        # The sum of int8 products; a sum of floats takes the place of the row.
        self._total = out.vectors.take(self._lmul) if dot.dtype == "i8" else ""
        self._row = out.vectors.take(self._lmul)
        self._total = self._total or self._row
        groups = dot.pieces if self._is_held else 1
        self._shared = [out.vectors.take(self._lmul, lowest=True) for _ in range(groups)]

    def write(self, rows: Loop) -> None:
        """Emits one dot product for each iteration of `rows`."""
        out, dot = self._out, self._dot
        body = self._floats if dot.dtype == "f32" else self._bytes
        with out.registers(4) as (length, single, shared, row):
            out.set(length, dot.lanes)
            out.set(single, 1)
            # Lanes.lmul is for 32 bits: 16 for int8, though no group is that large.
            lanes = Lanes(dot.lanes, 32 * self._lmul // self._bits, length)
            out.use(lanes, self._bits)
            out.move(row, self._addresses[dot.row])
            out.move(shared, self._addresses[dot.shared])
            for piece, group in enumerate(self._shared if self._is_held else ()):
                out.add(shared, self._step if piece else 0)
                out.emit(rvv.transfer(False, self._bits, group, shared))

            def result() -> None:
                body(lanes, Lanes(1, 1, single), shared, row)
                out.add(self._scratch, 4)
                out.add(row, rows.strides[dot.row] - dot.pieces * self._step)
                if not self._is_held:
                    out.add(shared, -dot.pieces * self._step)

            out.repeat(rows.extent, result)
        out.vectors.give(*{self._products, self._total, self._row, *self._shared})

    def _pieces(self, shared: str, row: str, multiply: Callable[[str], None]) -> None:
        """Emits the loads of all pieces; `multiply` emits the product with a group of the shared operand."""
        out = self._out

        def piece(number: int) -> None:
            out.emit(rvv.transfer(False, self._bits, self._row, row))
            out.add(row, self._step)
            if not self._is_held:
                out.emit(rvv.transfer(False, self._bits, self._shared[0], shared))
                out.add(shared, self._step)
            multiply(self._shared[number if self._is_held else 0])

        if self._dot.pieces <= _UNROLLED:
            for number in range(self._dot.pieces):
                piece(number)
        else:
            out.repeat(self._dot.pieces, lambda: piece(0))

    def _floats(self, _lanes: Lanes, _one: Lanes, shared: str, row: str) -> None:
        """Emits one dot product of f32; `shared` and `row` are registers with the addresses of the operands."""
        out = self._out
        out.emit(rvv.zeros(self._products))

        def multiply(group: str) -> None:
            out.emit(rvv.multiply_add("vfmacc", self._products, self._row, group))

        self._pieces(shared, row, multiply)
        out.emit(rvv.zero_first(self._row))
        out.emit(rvv.reduce("vfredusum", self._row, self._products, self._row))
        number = out.take_float()
        out.emit(rvv.first_float(number, self._row))
        out.emit(rvv.store_float(number, 0, self._scratch))
        out.give_float(number)

    def _bytes(self, lanes: Lanes, single: Lanes, shared: str, row: str) -> None:
        """Emits one dot product of int8; `lanes` and `single` are the shapes of operands and of the sum."""
        out = self._out
        out.use(single, 32)
        out.emit(rvv.zero_first(self._total))
        out.use(lanes, 8)

        def multiply(group: str) -> None:
            out.emit(rvv.binary("vwmul", self._products, self._row, group))
            out.use(lanes, 16)
            out.emit(rvv.reduce("vwredsum", self._total, self._products, self._total))
            if self._dot.pieces > 1:
                out.use(lanes, 8)

        self._pieces(shared, row, multiply)
        out.use(single, 32)
        with out.registers(1) as (number,):
            out.emit(rvv.first_integer(number, self._total))
            out.emit(rvv.store_word(number, 0, self._scratch))
