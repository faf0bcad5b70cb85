"""Tile sizes of matrix products, f32."""

from __future__ import annotations

from bmc.rewrites.tiles.root import Levels, Root, fastest_loop

# From here on left-over columns of a matrix cost less than reading B more than once.
_MANY_GROUPS = 100


def choose(root: Root, tile_rows: int, lanes: int) -> Levels:
    """Products with B stored [K, N]; at VLEN 256 17 multiply-adds per instruction.

    One workgroup, since one hart runs them all: bounds stay constants, and the columns left over by
    the last group become one shorter group instead of scalar code. Columns are walked in panels of
    one group, so that a panel of B is read once for all rows.
    """
    *batch, rows, columns = root.result
    if columns < lanes or fastest_loop(root.indexing_maps[1]) != len(root.result) - 1:
        return {}
    # A panel makes the left-over columns scalar again: only where they are few among many.
    leftover_is_small = columns % lanes == 0 or columns > _MANY_GROUPS * lanes
    panel = lanes if leftover_is_small else columns
    ones = (1,) * len(batch)
    return {
        "distribution": (*root.result, 0),
        "cache_parallel": (*ones, rows, panel, 0),
        "vector_common_parallel": (*ones, min(rows, tile_rows), lanes, 0),
    }
