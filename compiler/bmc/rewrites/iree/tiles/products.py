"""Tile sizes of convolutions and of products that IREE writes as linalg.generic."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.ir.contraction import Axis, Contraction
from bmc.rewrites.iree.tiles.root import Levels, Root

# Element types of A, B and the sums.
_ELEMENTS = (("f32", "f32", "f32"), ("i8", "i8", "i32"), ("i8", "i16", "i32"))
# Vector registers of RISC-V.
_REGISTERS = 32
# Sums in one register at VLEN 256. Fewer leave a part of it idle, and are left to IREE, although bmc's tiles would
# take fewer instructions there too: 3x3 from 16 to 4 channels in f32 59,969 instead of 92,964.
_FEWEST_COLUMNS = 8
# Instructions per turn of the innermost loop, other than loads and multiply-adds: two pointers advance, LLVM keeps
# a copy of one, and there is the branch. For the 3x3 layers of ResNet8 any number up to 16 chooses the same tiles.
_LOOP = 4
# A loop over this few channels, as in a color image, costs more than the work inside it. In 3x3 windows with stride
# 2, unrolling takes 8 to 30 % fewer instructions for 2 to 4 channels, but in int8 11 % more for 16 to 32 channels.
_FEW_CHANNELS = 4
# Unrolling a longer row of a window may spill: 1x9 from 16 to 64 channels in f32 takes 263,199 instructions instead
# of 122,703. With eight taps it takes 120,237 instead of 202,000.
_MOST_TAPS = 8


@dataclass(frozen=True)
class _Loops:
    """The loops of a sum of products, by number.

    Attributes:
      columns: over adjacent elements of the result and of B.
      row: the result's next loop outward, -1 if there is none.
      tap: over the window along `row`, -1 if there is none worth unrolling.
      is_strided: whether the window has a stride or dilation, so adjacent rows share no pixels.
      is_dense: whether one element of A serves all columns, which is not so in a depthwise convolution.
    """

    columns: int
    row: int
    tap: int
    is_strided: bool
    is_dense: bool


def choose(root: Root, lanes: int) -> Levels:
    """Tiles sums of a * b; returns {} if B's columns are not adjacent or too few.

    A tile is several pixels of a row by one register group of channels. A depthwise tile has no more
    registers than such a group in total, because its pixels share nothing. All sizes divide their loops,
    since left-overs become scalar code.
    An inference of ResNet8 takes 1.35 million instructions in f32 (with IREE's tiles 2.73) and 1.55 million
    in int8 (4.23).
    """
    if root.product is None or root.elements not in _ELEMENTS:
        return {}
    loops = _loops(root, root.product)
    if loops is None:
        return {}
    group = _largest_power_of_two(root.loops[loops.columns], lanes)
    if group < _FEWEST_COLUMNS:
        return {}
    rank = len(root.result)
    tile = [1] * rank + [0] * (len(root.loops) - rank)
    steps = [0] * rank + [1] * (len(root.loops) - rank)
    if loops.is_dense:
        rows, group = _dense_tile(root, loops, group, lanes)
    else:
        rows = _depthwise_rows(root, loops, lanes // group)
    tile[loops.columns] = group
    if loops.row >= 0:
        tile[loops.row] = rows
    if loops.tap >= 0 and _unrolls_taps(root, loops, rows):
        steps[loops.tap] = root.loops[loops.tap]
    # One workgroup, since one hart runs all of them.
    whole = (*root.loops[:rank], *tile[rank:])
    return {
        "distribution": whole,
        "cache_parallel": whole,
        "vector_common_parallel": tuple(tile),
        "vector_reduction": tuple(steps),
    }


def _unrolls_taps(root: Root, loops: _Loops, rows: int) -> bool:
    """Whether to unroll the window.

    Adjacent pixels read the same elements again unless they are strided. If they are, unrolling pays only
    where the loop over channels is short. A single pixel shares nothing: in f32, the elements of all taps
    would be loaded first and spilled.
    """
    if loops.is_dense:
        return not loops.is_strided or root.loops[-1] <= _FEW_CHANNELS
    return rows > 1 or not root.is_f32


def _depthwise_rows(root: Root, loops: _Loops, limit: int) -> int:
    """Returns how many pixels fill the eight registers that one pixel with many channels would take."""
    extent = root.loops[loops.row] if loops.row >= 0 else 1
    return max(rows for rows in range(1, limit + 1) if extent % rows == 0)


def _dense_tile(root: Root, loops: _Loops, group: int, lanes: int) -> tuple[int, int]:
    """Returns rows and columns of the tile that takes the fewest instructions.

    The registers hold a group of sums for each row, and one group of B. Integer B is widened in steps.
    """
    extends = not root.is_f32
    taps = root.loops[loops.tap] if loops.tap >= 0 and not loops.is_strided else 1
    extent = root.loops[loops.row] if loops.row >= 0 else 1
    best = (float("inf"), 1, group)
    while group >= _FEWEST_COLUMNS:
        registers = max(1, group * 8 // lanes)
        b_registers = registers * 3 / 4 if extends else registers
        for rows in (r for r in range(1, extent + 1) if extent % r == 0):
            if rows * registers + b_registers <= _REGISTERS:
                loads = taps * (1 + extends) + rows + taps - 1
                cost = (loads + rows * taps + _LOOP) / (rows * taps * group)
                best = min(best, (cost, rows, group))
        group //= 2
    return best[1], best[2]


def _loops(root: Root, product: Contraction) -> _Loops | None:
    """Returns the loops by role, None if B's columns are not adjacent."""
    rank = len(product.result)
    if not rank or not product.counts_up or product.b[-1:] != product.result[-1:]:
        return None
    columns = rank - 1
    row = rank - 2 if rank > 1 else -1
    tap, is_strided = -1, False
    for window in product.windows:
        assert window.tap is not None
        if window.loop == row and root.loops[window.tap] <= _MOST_TAPS:
            tap, is_strided = window.tap, (window.stride, window.dilation) != (1, 1)
    return _Loops(columns, row, tap, is_strided, Axis(columns) not in product.a)


def _largest_power_of_two(extent: int, limit: int) -> int:
    """The largest power of two that divides `extent` and is at most `limit`."""
    return min(extent & -extent, limit)
