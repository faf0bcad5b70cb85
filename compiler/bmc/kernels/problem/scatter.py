"""A problem that moves rows to where indices say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scatter:
    """rows[indices[n]] = updates[n], for each n in order. Where an index names no row, nothing is written.

    Attributes:
      count: how many rows are written.
      rows: how many rows there are.
      row_bytes: size of a row, whose elements are neighbors.
      index_bytes: 4 or 8.
    """

    count: int
    rows: int
    row_bytes: int
    index_bytes: int

    @property
    def needs_halves(self) -> bool:
        """Whether its kernel needs instructions for f16. It moves bytes."""
        return False
