"""The registers and shapes that a row block and its panel work with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmc.kernels.problem.product import LARGEST_WINDOW, OutOfBounds
from bmc.kernels.tree.vectors import Lanes


@dataclass(frozen=True)
class Block:
    """A row block in a panel.

    Attributes:
      accumulators: a vector group for each row.
      lanes: shape of an accumulator.
      constants: integer registers with strides in bytes that do not fit into an immediate, by stride.
      out_of_bounds: (row, tap) pairs that read outside the image.
      positions: integer registers with the image index of the first tap along each vertical edge, by edge number.
      pad_value: integer register with the pad value, "" if it is zero.
      masks: integer register with the address of the next mask, "" without masks.
    """

    accumulators: list[str]
    lanes: Lanes
    constants: dict[int, str]
    out_of_bounds: OutOfBounds
    positions: dict[int, str]
    pad_value: str
    masks: str

    @property
    def outside(self) -> Block:
        """This block with all its taps outside the image."""
        rows = range(len(self.accumulators))
        return replace(
            self, out_of_bounds=frozenset((r, t) for r in rows for t in range(LARGEST_WINDOW))
        )


@dataclass(frozen=True)
class PanelContext:
    """What all row blocks of a panel share.

    Attributes:
      rows: rows of the largest block.
      epilogue_lmul: as in Panel.
      lanes, constants, positions, pad_value, masks: as in Block.
      b: integer register with the panel's address in `b`, or in the widened copy of `b`.
    """

    rows: int
    epilogue_lmul: int
    lanes: Lanes
    constants: dict[int, str]
    positions: dict[int, str]
    pad_value: str
    masks: str
    b: str

    def block(self, accumulators: list[str], out_of_bounds: OutOfBounds) -> Block:
        """Returns a row block of the panel."""
        return Block(
            accumulators,
            self.lanes,
            self.constants,
            out_of_bounds,
            self.positions,
            self.pad_value,
            self.masks,
        )
