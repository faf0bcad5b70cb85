"""Tile sizes bmc prefers over IREE's own, measured on Spike (instructions) at VLEN 128 to 1024."""

from __future__ import annotations

from bmc.rewrites.tiles import matmul, products, rows
from bmc.rewrites.tiles.root import Levels, Root
from bmc.target import Target


def choose(root: Root, target: Target) -> Levels:
    """Returns the levels to replace, {} to keep IREE's choice."""
    if not target.is_riscv:
        return {}
    # Elements of a register group of eight, the largest there is.
    lanes = target.vlen_bits // 4
    if root.name in ("linalg.matmul", "linalg.batch_matmul") and root.is_f32:
        # Three groups of sums, one of B; without vectors 16 sums in the 32 scalar registers.
        return matmul.choose(root, 3, lanes) if lanes else matmul.choose(root, 4, 4)
    if not lanes or root.name != "linalg.generic":
        return {}
    if levels := products.choose(root, lanes):
        return levels
    if not root.is_f32 or "vector_common_parallel" not in root.levels:  # a single number
        return {}
    if len(root.levels["vector_common_parallel"]) == len(root.result):
        return rows.elementwise(root, lanes)
    return rows.reduction(root, lanes)
