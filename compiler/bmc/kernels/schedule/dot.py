"""Writes the sums of products of two lines whose lanes are added up, as in a product of one row with few columns.

A line that all results share is loaded once, if it is short. Bytes are multiplied in groups that are half as wide as
their products, and added up as these are.
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

# Bits of a group of floats, or of bytes, in registers: as many as their products need eight registers for.
_LMULS = {"f32": 8, "i8": 4}
# Registers of a line that is loaded once, at most, and where the groups begin that are multiplied, and their products.
_HELD, _LINE, _PRODUCTS = 16, 16, 24
# Turns of a loop that are written one after the other.
_UNROLLED = 4
# What a result, and a piece of its lines, cost beside a step with lanes of results, in modeled cycles.
_CYCLES = {"f32": (60, 34, 8), "i8": (20, 83, 12)}
_STEPS = {"f32": ["sum", "mulf", "addf"], "i8": ["sum", "muli", "addi"]}


@dataclass(frozen=True, slots=True)
class Dot:
    """A sum of products of two operands.

    Attributes:
      dtype: "f32" or "i8".
      shared: the number of the operand that all results share.
      own: the number of the other one.
      lanes: the length of the equal pieces that lines are cut into.
      pieces: how many there are.
    """

    dtype: str
    shared: int
    own: int
    lanes: int
    pieces: int


def is_faster(dtype: str, results: int, inner: int, vlen: int) -> bool:
    """Whether so few results are sums of lanes, instead of lanes, of products of lines of so many elements."""
    if dtype not in _CYCLES:
        return False
    result, piece, step = _CYCLES[dtype]
    pieces = math.ceil(inner / _most(dtype, vlen))
    return inner % pieces == 0 and results * (result + pieces * piece) <= step * inner


def read(step: tuple[Node, ...], rows: Loop, lanes: Loop, vlen: int) -> Dot | None:
    """Returns what a step of a reduction is, None if it is no product of lines that are cut into equal pieces.

    Args:
      step: what is added to the sums.
      rows: the loop over results.
      lanes: the loop whose elements are added up.
      vlen: the smallest VLEN in bits.
    """
    loads = [node for node in step if node.op == "load"]
    ops = [node.op for node in step if node.op not in ("load", "extsi")]
    if len(loads) != 2 or loads[0].dtype != loads[1].dtype or _STEPS.get(loads[0].dtype) != ops:
        return None
    dtype = loads[0].dtype
    if any(lanes.strides[node.operand] != WIDTHS[dtype] for node in loads):
        return None
    one, other = sorted((node.operand for node in loads), key=lambda n: rows.strides[n])
    pieces = math.ceil(lanes.extent / _most(dtype, vlen))
    if rows.strides[one] or lanes.extent % pieces:
        return None
    return Dot(dtype, one, other, lanes.extent // pieces, pieces)


def _most(dtype: str, vlen: int) -> int:
    """Lanes of a group."""
    return _LMULS[dtype] * vlen // (8 * WIDTHS[dtype])


class DotWriter:
    """Writes the sums of a line of results.

    Args:
      out: receives the text.
      dot: what is summed.
      addresses: registers with the operands' addresses, by their number. They stay as they are.
      scratch: register with the address of the sums. It is behind them afterwards.
    """

    def __init__(self, out: Assembly, dot: Dot, addresses: dict[int, str], scratch: str) -> None:
        self._out = out
        self._dot = dot
        self._addresses = addresses
        self._scratch = scratch
        self._lmul = _LMULS[dot.dtype]
        self._bits = 8 * WIDTHS[dot.dtype]
        self._step = dot.lanes * WIDTHS[dot.dtype]
        self._is_held = dot.pieces * self._lmul <= _HELD

    def write(self, rows: Loop) -> None:
        """Emits the sums of all turns of a loop."""
        out, dot = self._out, self._dot
        body = self._floats if dot.dtype == "f32" else self._bytes
        with out.registers(4) as (length, one, shared, own):
            out.set(length, dot.lanes)
            out.set(one, 1)
            # Groups of bytes have the lanes of sums in 16 registers, which are nowhere.
            lanes = Lanes(dot.lanes, 32 * self._lmul // self._bits, length)
            lanes.use(out, self._bits)
            out.move(own, self._addresses[dot.own])
            out.move(shared, self._addresses[dot.shared])
            for piece in range(dot.pieces if self._is_held else 0):
                out.add(shared, self._step if piece else 0)
                out.emit(rvv.transfer(False, self._bits, f"v{piece * self._lmul}", shared))

            def row() -> None:
                body(lanes, Lanes(1, 1, one), shared, own)
                out.add(self._scratch, 4)
                out.add(own, rows.strides[dot.own] - dot.pieces * self._step)
                if not self._is_held:
                    out.add(shared, -dot.pieces * self._step)

            out.repeat(rows.extent, row)

    def _pieces(self, shared: str, own: str, multiply: Callable[[int], None]) -> None:
        """Emits the loads of all pieces, and what multiplies each with that of the shared line, at a register."""
        out = self._out

        def piece(number: int) -> None:
            out.emit(rvv.transfer(False, self._bits, f"v{_LINE}", own))
            out.add(own, self._step)
            if not self._is_held:
                out.emit(rvv.transfer(False, self._bits, "v0", shared))
                out.add(shared, self._step)
            multiply(number * self._lmul if self._is_held else 0)

        if self._dot.pieces <= _UNROLLED:
            for number in range(self._dot.pieces):
                piece(number)
        else:
            out.repeat(self._dot.pieces, lambda: piece(0))

    def _floats(self, _lanes: Lanes, _one: Lanes, shared: str, own: str) -> None:
        out = self._out
        out.emit(rvv.zeros(f"v{_PRODUCTS}"))

        def multiply(group: int) -> None:
            out.emit(rvv.multiply_add("vfmacc", f"v{_PRODUCTS}", f"v{_LINE}", f"v{group}"))

        self._pieces(shared, own, multiply)
        out.emit(rvv.zero_first(f"v{_LINE}"))
        out.emit(rvv.reduce("vfredusum", f"v{_LINE}", f"v{_PRODUCTS}", f"v{_LINE}"))
        number = out.take_float()
        out.emit(rvv.first_float(number, f"v{_LINE}"))
        out.emit(rvv.store_float(number, 0, self._scratch))
        out.give_float(number)

    def _bytes(self, lanes: Lanes, one: Lanes, shared: str, own: str) -> None:
        out = self._out
        total = _LINE + self._lmul
        one.use(out, 32)
        out.emit(rvv.zero_first(f"v{total}"))
        lanes.use(out, 8)

        def multiply(group: int) -> None:
            out.emit(rvv.binary("vwmul", f"v{_PRODUCTS}", f"v{_LINE}", f"v{group}"))
            lanes.use(out, 16)
            out.emit(rvv.reduce("vwredsum", f"v{total}", f"v{_PRODUCTS}", f"v{total}"))
            if self._dot.pieces > 1:
                lanes.use(out, 8)

        self._pieces(shared, own, multiply)
        one.use(out, 32)
        with out.registers(1) as (number,):
            out.emit(rvv.first_integer(number, f"v{total}"))
            out.emit(rvv.store_word(number, 0, self._scratch))
