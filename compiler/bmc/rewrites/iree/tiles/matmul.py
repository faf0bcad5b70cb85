"""Tile sizes of f32 matrix products."""

from __future__ import annotations

from bmc.rewrites.iree.tiles.root import Levels, Root, fastest_loop

# With more column groups than this, panels read B once for all rows, which pays in cache misses, though not in
# instructions. Their left-over columns are scalar: 128x128 by 6,458 columns takes 10 % more, by 698 columns 59 %.
_MANY_GROUPS = 100


def choose(root: Root, tile_rows: int, lanes: int) -> Levels:
    """Tiles a product whose B is stored as [K, N].

    One hart runs all workgroups, so there is only one. Its bounds are constants, and the columns left over
    after the last group become one shorter group instead of scalar code. Columns are processed in panels
    of one group, so that each panel of B is read once for all rows.

    Args:
      root: a linalg.matmul or linalg.batch_matmul.
      tile_rows: rows of a tile.
      lanes: columns of a tile, which is one register group.

    Returns:
      The levels to replace, {} if B has too few columns or is not stored as [K, N].
    """
    *batch, rows, columns = root.result
    if columns < lanes or fastest_loop(root.indexing_maps[1]) != len(root.result) - 1:
        return {}
    # With panels, left-over columns are scalar code. That pays only if they are few among many.
    leftover_is_small = columns % lanes == 0 or columns > _MANY_GROUPS * lanes
    panel = lanes if leftover_is_small else columns
    ones = (1,) * len(batch)
    return {
        "distribution": (*root.result, 0),
        "cache_parallel": (*ones, rows, panel, 0),
        "vector_common_parallel": (*ones, min(rows, tile_rows), lanes, 0),
    }
