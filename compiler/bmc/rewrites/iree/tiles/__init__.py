"""Tile sizes that bmc prefers to IREE's, chosen by instruction counts on Spike at VLEN 128 to 1024.

Numbers beside constants are instructions of one dispatch on Spike, at VLEN 256 unless they say otherwise. Spike
counts a load that misses a cache, and an instruction on eight registers, as one like any other.
"""

from __future__ import annotations

from bmc.ir import names
from bmc.rewrites.iree.tiles import matmul, products, rows, scalar
from bmc.rewrites.iree.tiles.root import Levels, Root
from bmc.target import Target


def choose(root: Root, target: Target) -> Levels:
    """Returns the levels to replace, {} to keep IREE's choice for all."""
    if not target.is_riscv:
        return {}
    # f32 elements in a group of eight vector registers, the largest possible.
    lanes = target.vlen_bits // 4
    if root.name in (names.MATMUL, names.BATCH_MATMUL) and root.is_f32:
        # Three register groups of sums and one of B fill the registers: 19.0 multiply-adds per instruction in
        # 256x256x256. A fourth row spills (6.1); IREE's seven rows of four registers do 10.8.
        # Without vectors: 16 sums in 32 scalar registers do 0.58, and IREE's tiles 0.29.
        return matmul.choose(root, 3, lanes) if lanes else matmul.choose(root, 4, 4)
    if root.name != names.GENERIC:
        return {}
    if not lanes:
        return scalar.choose(root, soft_float=target.soft_float)
    if levels := products.choose(root, lanes):
        return levels
    if not root.is_f32 or "vector_common_parallel" not in root.levels:  # a single number
        return {}
    if len(root.levels["vector_common_parallel"]) == len(root.result):
        return rows.elementwise(root, lanes)
    return rows.reduction(root, lanes)
