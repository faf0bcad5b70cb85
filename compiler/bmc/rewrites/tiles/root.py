"""What the choice of tile sizes depends on."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.ir.contraction import Contraction

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
      loops: extent of each loop, 0 if unknown; () if there are no maps.
      levels: IREE's tile sizes.
      body: names of the operations done for each element.
      product: the contraction that it is, None if it is none.
      extents: of each loop over the result, outermost first; () if they do not map one to one.
    """

    name: str
    operands: tuple[tuple[tuple[int, ...], str], ...]
    result: tuple[int, ...]
    indexing_maps: tuple[str, ...]
    loops: tuple[int, ...]
    levels: Levels
    body: tuple[str, ...]
    product: Contraction | None
    extents: tuple[int, ...]

    @property
    def elements(self) -> tuple[str, ...]:
        """Element type of each operand."""
        return tuple(element for _, element in self.operands)

    @property
    def is_f32(self) -> bool:
        return set(self.elements) <= {"f32"}


def fastest_loop(indexing_map: str) -> int:
    """Returns the number of the loop that runs over adjacent elements: 2 for "(d0, ...) -> (d0, d2)"."""
    last = indexing_map.removesuffix(")>").rpartition("d")[2]
    return int(last) if last.isdigit() else -1
