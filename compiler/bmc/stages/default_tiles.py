"""Tile sizes bmc prefers over IREE's own, measured on Spike (instructions) at VLEN 128 to 1024."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.target import Target

# More operations than this on one element keep too many values in registers.
_SIMPLE_BODY = 8
# From here on left-over columns of a matrix cost less than reading B more than once.
_MANY_GROUPS = 100

# Tile sizes of each loop by tiling level.
Levels = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Root:
    """The operation a dispatch is tiled by.

    Attributes:
      name: "linalg.matmul".
      operands: shape and element type of each tensor operand, results last.
      result: shape of the result.
      indexing_maps: as text, one for each operand; () for softmax and the like.
      levels: IREE's tile sizes.
      body: names of the operations done for each element.
      extents: of each loop over the result, outermost first; () if they do not map one to one.
    """

    name: str
    operands: tuple[tuple[tuple[int, ...], str], ...]
    result: tuple[int, ...]
    indexing_maps: tuple[str, ...]
    levels: Levels
    body: tuple[str, ...]
    extents: tuple[int, ...]


def choose(root: Root, target: Target) -> Levels:
    """Returns the levels to replace, {} to keep IREE's choice."""
    if not target.is_riscv or any(element != "f32" for _, element in root.operands):
        return {}
    # Elements of a register group of eight, the largest there is.
    lanes = target.vlen_bits // 4
    if root.name in ("linalg.matmul", "linalg.batch_matmul"):
        # Three groups of sums, one of B; without vectors 16 sums in the 32 scalar registers.
        return _matmul(root, 3, lanes) if lanes else _matmul(root, 4, 4)
    if not lanes or root.name != "linalg.generic":
        return {}
    if "vector_common_parallel" not in root.levels:  # a single number
        return {}
    if len(root.levels["vector_common_parallel"]) == len(root.result):
        return _elementwise(root, lanes)
    return _row_reduction(root, lanes)


def _matmul(root: Root, tile_rows: int, lanes: int) -> Levels:
    """Products with B stored [K, N]; at VLEN 256 17 multiply-adds per instruction.

    One workgroup, since one hart runs them all: bounds stay constants, and the columns left over by
    the last group become one shorter group instead of scalar code. Columns are walked in panels of
    one group, so that a panel of B is read once for all rows.
    """
    *batch, rows, columns = root.result
    if columns < lanes or _fastest_loop(root.indexing_maps[1]) != len(root.result) - 1:
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


def _row_reduction(root: Root, lanes: int) -> Levels:
    """Softmax, layer norm: one row at a time by full register groups (2 to 6 times fewer
    instructions than IREE's eight rows of two registers), unless rows are short and odd."""
    row = root.operands[0][0][-1] if root.operands[0][0] else 0
    step = lanes if row >= lanes else row
    last_loop = len(root.result)
    reduces_rows_only = (
        last_loop > 0
        and len(root.levels.get("vector_reduction", ())) == last_loop + 1
        and root.levels["vector_common_parallel"][-1] == 0
        and _fastest_loop(root.indexing_maps[0]) == last_loop
    )
    if not reduces_rows_only or step & (step - 1) or step < lanes // 8:
        return {}
    inner = (0,) * last_loop + (step,)
    return {
        "vector_common_parallel": (1,) * last_loop + (0,),
        "vector_reduction": inner,
        "vector_inner_parallel": inner,
    }


def _elementwise(root: Root, lanes: int) -> Levels:
    """Adds, multiplies and permutations of rows: full register groups.

    Polynomials (exp, erf, tanh) hold too many values at once and would spill.
    """
    last_loop = len(root.result) - 1
    moves_rows = len(root.extents) > 0 and all(
        _fastest_loop(m) == last_loop or f"d{last_loop}," not in m.partition("->")[2]
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
        # LLVM gets a scalar loop for the copy of one row, but vectors for that of several.
        rows = next(
            (loop for loop in reversed(range(last_loop)) if root.extents[loop] % 4 == 0), None
        )
        if rows is None:
            return {}
        tile[rows] = 4
    return {"vector_common_parallel": tuple(tile)}


def _fastest_loop(indexing_map: str) -> int:
    """Returns the number of the loop that runs over adjacent elements: 2 for "(d0, ...) -> (d0, d2)"."""
    last = indexing_map.removesuffix(")>").rpartition("d")[2]
    return int(last) if last.isdigit() else -1
