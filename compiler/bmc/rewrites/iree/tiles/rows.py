"""Tile sizes of f32 work on rows: softmax, layer norm, additions and copies."""

from __future__ import annotations

from bmc.rewrites.iree.tiles.root import Levels, Root, fastest_loop

# A body with more operations may keep too many values of each element in registers. It need not: a chain of 48
# additions and multiplications takes a quarter of the instructions of IREE's tiles, like one of eight.
_SIMPLE_BODY = 8
# Rows of a copy in one tile: 16x64x64 takes 336,472 instructions with 1 row, 5,712 with 2, 5,208 with 4, and
# 12,360 with 8.
_COPIED_ROWS = 4


def reduction(root: Root, lanes: int) -> Levels:
    """Tiles softmax and layer norm: one row at a time, in full register groups.

    In rows of 32 elements or more, softmax takes 3.0 to 6.0 times fewer instructions than with IREE's eight
    rows of two registers, and layer norm 2.1 to 3.3 times. Returns {} if rows do not fill a register, or are
    shorter than a group and their length is not a power of two.
    """
    row = root.operands[0][0][-1] if root.operands[0][0] else 0
    step = lanes if row >= lanes else row
    last_loop = len(root.result)
    reduces_rows_only = (
        last_loop > 0
        and len(root.levels.get("vector_reduction", ())) == last_loop + 1
        and root.levels["vector_common_parallel"][-1] == 0
        and fastest_loop(root.indexing_maps[0]) == last_loop
    )
    if not reduces_rows_only or step & (step - 1) or step < lanes // 8:
        return {}
    inner = (0,) * last_loop + (step,)
    return {
        "vector_common_parallel": (1,) * last_loop + (0,),
        "vector_reduction": inner,
        "vector_inner_parallel": inner,
    }


def elementwise(root: Root, lanes: int) -> Levels:
    """Tiles additions, multiplications and permutations of rows in full register groups.

    Returns {} for polynomials (exp, erf, tanh), which hold too many values at once and would spill: GELU takes
    8 % fewer instructions in groups of eight registers, but moves 20 such groups to and from memory per tile.
    """
    last_loop = len(root.result) - 1
    moves_rows = len(root.extents) > 0 and all(
        fastest_loop(m) == last_loop or f"d{last_loop}," not in m.partition("->")[2]
        for m in root.indexing_maps
    )
    simple = len(root.body) <= _SIMPLE_BODY and all(op.startswith("arith.") for op in root.body)
    if not moves_rows or not simple:
        return {}
    row = root.extents[-1]
    step = lanes if row >= lanes else row
    if step & (step - 1) or step < lanes // 8:
        return {}
    tile = [1] * last_loop + [step]
    if not root.body:
        # LLVM turns the copy of one row into a scalar loop, but uses vectors for several rows.
        rows = next(
            (loop for loop in reversed(range(last_loop)) if root.extents[loop] % _COPIED_ROWS == 0),
            None,
        )
        if rows is None:
            return {}
        tile[rows] = _COPIED_ROWS
    return {"vector_common_parallel": tuple(tile)}
