"""What the sums of some rows need to know."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmc.kernels.padding.borders import Missing
from bmc.kernels.problem.product import LARGEST_WINDOW
from bmc.kernels.tree.lanes import Lanes

# Of vectors.
REGISTERS = 32


@dataclass(frozen=True)
class Block:
    """A block of rows in a panel of lanes.

    Attributes:
      registers: numbers of the first vector register of each row's sums.
      lanes: the shape of these groups.
      constants: registers with distances that fit into no instruction.
      missing: rows and taps that lie outside of the image.
      positions: registers with the index of the first tap along each edge from line to line, by its number.
      filler: register with what is read outside of the image, "" for zeros.
      masks: register with the address of the masks, "" if there are none.
    """

    registers: list[int]
    lanes: Lanes
    constants: dict[int, str]
    missing: Missing
    positions: dict[int, str]
    filler: str
    masks: str

    @property
    def outside(self) -> Block:
        """The same block with nothing in the image."""
        rows = range(len(self.registers))
        return replace(self, missing=frozenset((r, t) for r in rows for t in range(LARGEST_WINDOW)))


@dataclass(frozen=True)
class Place:
    """What the blocks of a panel share.

    Attributes:
      rows: how many rows a block has at most.
      behind: LMUL of the epilogue, as in Panel.
      constants, positions, filler, masks: as in Block.
      b: register with the address of the panel in `b`.
    """

    rows: int
    behind: int
    lanes: Lanes
    constants: dict[int, str]
    positions: dict[int, str]
    filler: str
    masks: str
    b: str
