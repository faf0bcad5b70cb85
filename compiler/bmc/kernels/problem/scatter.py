"""The problem of a scatter: rows are copied to the rows of another tensor that indices select."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scatter:
    """rows[indices[n]] = updates[n], for each n in order. Updates whose index is out of range are skipped.

    Attributes:
      count: number of updates.
      rows: number of rows of the result.
      row_bytes: bytes of a row, which is contiguous.
      index_bytes: bytes of an index, 4 or 8.
    """

    count: int
    rows: int
    row_bytes: int
    index_bytes: int

    @property
    def halves(self) -> frozenset[str]:
        """The float types of 16 bits that the kernel needs instructions for: none, because it copies bytes."""
        return frozenset()
