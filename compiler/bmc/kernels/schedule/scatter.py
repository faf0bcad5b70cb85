"""Writes rows of a tensor over rows of another one that indices name, such as new keys and values into a cache."""

from __future__ import annotations

from bmc.kernels.problem.scatter import Scatter
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly, Kernel

_LMUL = 8


def write(scatter: Scatter, vlen: int, xlen: int) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits."""
    out = Assembly(3)
    updates, indices, rows = out.arguments
    whole, left = divmod(scatter.row_bytes, _LMUL * vlen // 8)

    def piece(length: str, to: str, size: int) -> None:
        out.set(length, size)
        out.emit(rvv.set_lanes(length, 8, f"m{_LMUL}"))
        out.emit(rvv.transfer(False, 8, "v0", updates))
        out.emit(rvv.transfer(True, 8, "v0", to))
        out.add(updates, size)
        out.add(to, size)

    def row() -> None:
        with out.registers(2) as (to, length):

            def copy(skip: str) -> None:
                bits = min(8 * scatter.index_bytes, xlen)
                out.emit(rvv.load_integer(bits, to, 0, indices))
                out.set(length, scatter.rows)
                # As unsigned numbers, so that negative indices are too large.
                out.emit(rvv.branch_if_not_below(to, length, skip))
                if scatter.index_bytes * 8 > xlen:
                    out.emit(rvv.load_integer(32, length, 4, indices))
                    out.emit(rvv.branch_if_not_zero(length, skip))
                out.set(length, scatter.row_bytes)
                out.emit(rvv.multiply(to, to, length))
                out.emit(rvv.add(to, to, rows))
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
