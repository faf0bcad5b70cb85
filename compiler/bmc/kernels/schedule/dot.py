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
from bmc.kernels.tree.lanes import Lanes

# Registers of a group of operands, by dtype; their products have 8 registers.
_LMULS = {"f32": 8, "i8": 4}
# Registers at most for the shared vector if it is loaded once, and the first registers of the other operand and of the
# products.
_MOST_HELD, _ROW, _PRODUCTS = 16, 16, 24
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

    def write(self, rows: Loop) -> None:
        """Emits one dot product for each iteration of `rows`."""
        out, dot = self._out, self._dot
        body = self._floats if dot.dtype == "f32" else self._bytes
        with out.registers(4) as (length, single, shared, row):
            out.set(length, dot.lanes)
            out.set(single, 1)
            # Lanes.lmul is for 32 bits: 16 for int8, though no group is that large.
            lanes = Lanes(dot.lanes, 32 * self._lmul // self._bits, length)
            lanes.use(out, self._bits)
            out.move(row, self._addresses[dot.row])
            out.move(shared, self._addresses[dot.shared])
            for piece in range(dot.pieces if self._is_held else 0):
                out.add(shared, self._step if piece else 0)
                out.emit(rvv.transfer(False, self._bits, f"v{piece * self._lmul}", shared))

            def result() -> None:
                body(lanes, Lanes(1, 1, single), shared, row)
                out.add(self._scratch, 4)
                out.add(row, rows.strides[dot.row] - dot.pieces * self._step)
                if not self._is_held:
                    out.add(shared, -dot.pieces * self._step)

            out.repeat(rows.extent, result)

    def _pieces(self, shared: str, row: str, multiply: Callable[[int], None]) -> None:
        """Emits the loads of all pieces; `multiply` emits the product with the shared operand in the given register."""
        out = self._out

        def piece(number: int) -> None:
            out.emit(rvv.transfer(False, self._bits, f"v{_ROW}", row))
            out.add(row, self._step)
            if not self._is_held:
                out.emit(rvv.transfer(False, self._bits, "v0", shared))
                out.add(shared, self._step)
            multiply(number * self._lmul if self._is_held else 0)

        if self._dot.pieces <= _UNROLLED:
            for number in range(self._dot.pieces):
                piece(number)
        else:
            out.repeat(self._dot.pieces, lambda: piece(0))

    def _floats(self, _lanes: Lanes, _one: Lanes, shared: str, row: str) -> None:
        """Emits one dot product of f32; `shared` and `row` are registers with the addresses of the operands."""
        out = self._out
        out.emit(rvv.zeros(f"v{_PRODUCTS}"))

        def multiply(group: int) -> None:
            out.emit(rvv.multiply_add("vfmacc", f"v{_PRODUCTS}", f"v{_ROW}", f"v{group}"))

        self._pieces(shared, row, multiply)
        out.emit(rvv.zero_first(f"v{_ROW}"))
        out.emit(rvv.reduce("vfredusum", f"v{_ROW}", f"v{_PRODUCTS}", f"v{_ROW}"))
        number = out.take_float()
        out.emit(rvv.first_float(number, f"v{_ROW}"))
        out.emit(rvv.store_float(number, 0, self._scratch))
        out.give_float(number)

    def _bytes(self, lanes: Lanes, single: Lanes, shared: str, row: str) -> None:
        """Emits one dot product of int8; `lanes` and `single` are the shapes of operands and of the sum."""
        out = self._out
        total = _ROW + self._lmul
        single.use(out, 32)
        out.emit(rvv.zero_first(f"v{total}"))
        lanes.use(out, 8)

        def multiply(group: int) -> None:
            out.emit(rvv.binary("vwmul", f"v{_PRODUCTS}", f"v{_ROW}", f"v{group}"))
            lanes.use(out, 16)
            out.emit(rvv.reduce("vwredsum", f"v{total}", f"v{_PRODUCTS}", f"v{total}"))
            if self._dot.pieces > 1:
                lanes.use(out, 8)

        self._pieces(shared, row, multiply)
        single.use(out, 32)
        with out.registers(1) as (number,):
            out.emit(rvv.first_integer(number, f"v{total}"))
            out.emit(rvv.store_word(number, 0, self._scratch))
