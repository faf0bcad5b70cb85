"""Writes scatters: kernels that copy rows to the rows of another tensor that indices select, such as a KV cache."""

from __future__ import annotations

from bmc.kernels.problem.scatter import Scatter
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly, Kernel

_LMUL = 8


def write(scatter: Scatter, vlen: int, xlen: int) -> Kernel:
    """Returns a kernel for harts with a VLEN of at least `vlen` bits and integer registers of `xlen` bits."""
    out = Assembly(3)
    updates, indices, rows = out.arguments
    row_part = out.vectors.take(_LMUL, lowest=True)
    whole, left = divmod(scatter.row_bytes, _LMUL * vlen // 8)

    def piece(length: str, target: str, size: int) -> None:
        out.set(length, size)
        out.emit(rvv.set_lanes(length, 8, f"m{_LMUL}"))
        out.emit(rvv.transfer(False, 8, row_part, updates))
        out.emit(rvv.transfer(True, 8, row_part, target))
        out.add(updates, size)
        out.add(target, size)

    def row() -> None:
        with out.registers(2) as (target, length):

            def copy(end: str) -> None:
                bits = min(8 * scatter.index_bytes, xlen)
                out.emit(rvv.load_integer(bits, target, 0, indices))
                out.set(length, scatter.rows)
                # The comparison is unsigned, so that negative indices are out of range.
                out.emit(rvv.branch_if_not_below(target, length, end))
                if scatter.index_bytes * 8 > xlen:
                    out.emit(rvv.load_integer(32, length, 4, indices))
                    out.emit(rvv.branch_if_not_zero(length, end))
                out.set(length, scatter.row_bytes)
                out.emit(rvv.multiply(target, target, length))
                out.emit(rvv.add(target, target, rows))
                if whole:
                    out.repeat(whole, lambda: piece(length, target, _LMUL * vlen // 8))
                if left:
                    piece(length, target, left)
                out.add(updates, -scatter.row_bytes)

            out.skippable(copy)
        out.add(updates, scatter.row_bytes)
        out.add(indices, scatter.index_bytes)

    out.repeat(scatter.count, row)
    return out.kernel()
