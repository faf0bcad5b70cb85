"""The facts on which the choice of tile sizes depends."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.ir.contraction import Contraction

# Tile sizes of each loop by tiling level.
Levels = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Root:
    """The operation by which a dispatch is tiled.

    Attributes:
      name: such as "linalg.matmul".
      operands: shape and element type of each tensor operand, results last.
      result: shape of the result.
      indexing_maps: one per operand, as text; () for ops without maps, such as softmax.
      loops: extent of each loop, 0 if unknown; () without maps.
      levels: IREE's tile sizes.
      body: names of the operations applied to each element.
      product: the contraction that the root computes, None if it is no contraction.
      extents: the result's extents in the order of the loops; () unless they map one to one.
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
