"""What the sums of some rows need to know."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmc.kernels.padding.borders import OutOfBounds
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
      out_of_bounds: rows and taps that lie outside of the image.
      positions: registers with the index of the first tap along each edge from line to line, by its number.
      pad_value: register with what is read outside of the image, "" for zeros.
      masks: register with the address of the masks, "" if there are none.
    """

    registers: list[int]
    lanes: Lanes
    constants: dict[int, str]
    out_of_bounds: OutOfBounds
    positions: dict[int, str]
    pad_value: str
    masks: str

    @property
    def outside(self) -> Block:
        """The same block with nothing in the image."""
        rows = range(len(self.registers))
        return replace(
            self, out_of_bounds=frozenset((r, t) for r in rows for t in range(LARGEST_WINDOW))
        )


@dataclass(frozen=True)
class Place:
    """What the blocks of a panel share.

    Attributes:
      rows: how many rows a block has at most.
      epilogue_lmul: LMUL of the epilogue, as in Panel.
      constants, positions, pad_value, masks: as in Block.
      b: register with the address of the panel in `b`.
    """

    rows: int
    epilogue_lmul: int
    lanes: Lanes
    constants: dict[int, str]
    positions: dict[int, str]
    pad_value: str
    masks: str
    b: str
