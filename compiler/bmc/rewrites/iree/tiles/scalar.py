"""Tile sizes of sums of products on harts without vectors.

IREE's tiles are made for vectors: 64 sums and more, which a hart with 32 registers keeps on the stack. Here the sums
of a tile stay in registers, with what they share. Cycles show that more than instructions do: 3x3 from 16 to 16
channels of 32x32 pixels in int8 takes 7.93 million instructions instead of 10.59, and on VexRiscv, which waits for
every store, 9.4 million cycles instead of 36.9.
"""

from __future__ import annotations

from dataclasses import dataclass

from bmc.ir.contraction import Axis
from bmc.rewrites.iree.tiles.root import Levels, Root

# Instructions per turn of the innermost loop that compute no product: two pointers advance, and there is the branch.
_LOOP = 4


@dataclass(frozen=True)
class _Registers:
    """How many numbers a tile may have before LLVM spills.

    Attributes:
      sums: of them.
      all: sums, and the numbers that sums share.
    """

    sums: int
    all: int


# Of int8, sums share registers with pointers. With 16 sums, an inference of ResNet8 takes 50.7 million instructions,
# with 8 it takes 42.7. 10 sums of a vector times a matrix spill, since 11 numbers are loaded for them.
_INTEGERS = _Registers(sums=10, all=20)
# Floats have 32 of their own: in f32 on rv64gc, ResNet8 takes 22.7 million instead of 40.1.
_FLOATS = _Registers(sums=16, all=28)
# Element types of A, B and the sums.
_ELEMENTS: dict[tuple[str, ...], _Registers] = {
    ("f32", "f32", "f32"): _FLOATS,
    ("i8", "i8", "i32"): _INTEGERS,
    ("i8", "i16", "i32"): _INTEGERS,
}


def choose(root: Root, *, soft_float: bool) -> Levels:
    """Returns the levels to replace, {} to keep IREE's.

    Args:
      root: the operation.
      soft_float: whether a product of floats is a call, next to which tiles do not matter.
    """
    registers = _ELEMENTS.get(root.elements)
    if registers is None or (soft_float and registers is _FLOATS):
        return {}
    if root.product is None or not root.product.counts_up or not root.result:
        return {}
    rank = len(root.result)
    is_dense = Axis(rank - 1) not in root.product.a
    rows, columns = (1, *root.loops[:rank])[-2:]
    sizes = _tile(rows, columns, registers, is_dense=is_dense)
    sums = (0,) * (len(root.loops) - rank)
    # One workgroup, since one hart runs all of them.
    whole = (*root.loops[:rank], *sums)
    return {
        "distribution": whole,
        "cache_parallel": whole,
        "vector_common_parallel": (*(1,) * (rank - 2), *sizes[-rank:], *sums),
        "vector_reduction": (*(0,) * rank, *(1,) * len(sums)),
    }


def _tile(rows: int, columns: int, registers: _Registers, *, is_dense: bool) -> tuple[int, int]:
    """Returns the rows and columns of the tile that takes the fewest instructions. They divide their loops.

    Args:
      rows: extent of the loop over rows, 1 if there is none.
      columns: extent of the loop over columns.
      registers: those that a tile may have.
      is_dense: whether one element of A serves all columns, which is not so in a depthwise convolution.
    """
    best = (float("inf"), 1, 1)
    for high in _divisors(rows, registers.sums):
        for wide in _divisors(columns, registers.sums // high):
            sums = high * wide
            loads = wide + (high if is_dense else sums)
            # A number that serves one sum is loaded when it is needed.
            if not is_dense or sums + loads <= registers.all:
                best = min(best, ((loads + 2 * sums + _LOOP) / sums, high, wide))
    return best[1], best[2]


def _divisors(extent: int, limit: int) -> list[int]:
    return [size for size in range(1, limit + 1) if extent % size == 0]
