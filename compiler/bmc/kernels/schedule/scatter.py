"""Writes rows of a tensor over rows of another one that indices name, such as new keys and values into a cache."""

from __future__ import annotations

from bmc.kernels.problem.scatter import Scatter
from bmc.kernels.tree.assembly import Assembly, Kernel

_LMUL = 8


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
