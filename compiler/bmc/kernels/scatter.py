"""Writes rows of a tensor over rows of another one that indices name, such as new keys and values into a cache."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.assembly import Assembly, Kernel
from bmc.kernels.product import Unsupported
from bmc.kernels.views import LOAD, STORE

_SCATTER = "iree_linalg_ext.scatter"
_LMUL = 8


@dataclass(frozen=True, slots=True)
class Scatter:
    """rows[indices[n]] = updates[n], for each n in order. Where an index names no row, nothing is written.

    Attributes:
      count: how many rows are written.
      rows: how many rows there are.
      row_bytes: size of a row, whose elements are neighbors.
      index_bytes: 4 or 8.
    """

    count: int
    rows: int
    row_bytes: int
    index_bytes: int


def read(function: ir_util.Op) -> tuple[Scatter, tuple[Any, ...]]:
    """Returns what a dispatch function does, and its operands: updates, indices and the rows, as buffers.

    Raises:
      Unsupported: it does anything else.
    """
    ops = list(ir_util.walk(function))
    scatters = [op for op in ops if op.name == _SCATTER]
    stores = [op for op in ops if op.name == STORE]
    if len(scatters) != 1 or len(stores) != 1:
        raise Unsupported("a dispatch that is not one scatter and one store")
    (scatter,), (store,) = scatters, stores
    (block,) = scatter.regions[0].blocks
    if len(block.operations) != 1 or block.operations[0].operands[0] != block.arguments[0]:
        raise Unsupported("a scatter that computes")
    operands = tuple(map(_buffer, scatter.operands))
    if store.operands[0] != scatter.results[0] or store.operands[1] != operands[2]:
        raise Unsupported("a scatter into a copy")
    updates, indices, rows = (operand.type for operand in operands)
    one = [1] * (indices.rank - 1)
    if (
        list(ir.DenseI64ArrayAttr(scatter.attributes["dimension_map"])) != [0]
        or list(indices.shape) != [updates.shape[0], *one]
        or list(updates.shape)[1:] != list(rows.shape)[1:]
        or str(indices.element_type) not in ("i32", "i64")
        or str(updates.element_type) == "i1"
    ):
        raise Unsupported("a scatter of parts of rows")
    row_bytes = math.prod(rows.shape[1:]) * ir_util.element_bytes(rows.element_type)
    found = Scatter(updates.shape[0], rows.shape[0], row_bytes, indices.element_type.width // 8)
    return found, operands


def write(scatter: Scatter, vlen: int, xlen: int) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits."""
    out = Assembly(3)
    updates, indices, rows = out.arguments
    whole, left = divmod(scatter.row_bytes, _LMUL * vlen // 8)

    def piece(length: str, to: str, size: int) -> None:
        out.set(length, size)
        out.emit(f"vsetvli zero, {length}, e8, m{_LMUL}, ta, ma")
        out.emit(f"vle8.v v0, ({updates})")
        out.emit(f"vse8.v v0, ({to})")
        out.add(updates, size)
        out.add(to, size)

    def row() -> None:
        with out.registers(2) as (to, length):

            def copy(skip: str) -> None:
                load = "ld" if scatter.index_bytes == 8 and xlen == 64 else "lw"
                out.emit(f"{load} {to}, 0({indices})")
                out.set(length, scatter.rows)
                # As unsigned numbers, so that negative indices are too large.
                out.emit(f"bgeu {to}, {length}, {skip}")
                if scatter.index_bytes * 8 > xlen:
                    out.emit(f"lw {length}, 4({indices})")
                    out.emit(f"bnez {length}, {skip}")
                out.set(length, scatter.row_bytes)
                out.emit(f"mul {to}, {to}, {length}")
                out.emit(f"add {to}, {to}, {rows}")
                if whole:
                    out.repeat(whole, lambda: piece(length, to, _LMUL * vlen // 8))
                if left:
                    piece(length, to, left)
                out.add(updates, -scatter.row_bytes)

            out.skippable(copy)
        out.add(updates, scatter.row_bytes)
        out.add(indices, scatter.index_bytes)

    out.repeat(scatter.count, row)
    return out.kernel()


def _buffer(value: Any) -> Any:
    """The buffer that holds a tensor; raises Unsupported if it has gaps, or if there is none."""
    owner = ir_util.definition(value)
    if owner is None or owner.name != LOAD:
        raise Unsupported("an operand that is computed first")
    buffer = owner.operands[0]
    strides, _ = buffer.type.get_strides_and_offset()
    inner = 1
    for stride, extent in zip(reversed(strides), reversed(buffer.type.shape), strict=True):
        if stride != inner and extent != 1:
            raise Unsupported("a scatter of rows with gaps")
        inner *= extent
    return buffer
