"""Tile sizes of f32 work on rows: softmax, layer norm, additions and copies."""

from __future__ import annotations

from bmc.rewrites.tiles.root import Levels, Root, fastest_loop

# A body with more operations keeps too many values of each element in registers.
_SIMPLE_BODY = 8


def reduction(root: Root, lanes: int) -> Levels:
    """Tiles softmax and layer norm: one row at a time, in full register groups.

    This takes 2 to 6 times fewer instructions than IREE's eight rows of two registers. Returns {} if rows
    are short and their length is not a power of two.
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

    Returns {} for polynomials (exp, erf, tanh), which hold too many values at once and would spill.
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
            (loop for loop in reversed(range(last_loop)) if root.extents[loop] % 4 == 0), None
        )
        if rows is None:
            return {}
        tile[rows] = 4
    return {"vector_common_parallel": tuple(tile)}
