"""Gives groups of vector registers; and the shape of a group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bmc.kernels.unsupported import Unsupported

REGISTERS = 32


class Vectors:
    """The vector registers of a kernel. A group is named by its first register.

    Args:
      count: how many registers there are.

    Attributes:
      peak: how many registers were in use at once, at most.
    """

    def __init__(self, count: int = REGISTERS) -> None:
        self._free = set(range(count))
        self._count = count
        self._sizes: dict[str, int] = {}
        self.peak = 0

    def take(self, size: int, *, lowest: bool = False, alignment: int = 0) -> str:
        """Takes a group of registers, by default the highest: v0 stays free for masks as long as possible.

        Args:
          size: registers of the group.
          lowest: whether to take the lowest group.
          alignment: of the first register, `size` by default.

        Raises:
          Unsupported: none is free.
        """
        starts = range(0, self._count - size + 1, alignment or size)
        for start in starts if lowest else reversed(starts):
            group = range(start, start + size)
            if self._free.issuperset(group):
                self._free.difference_update(group)
                self._sizes[f"v{start}"] = size
                self._track(0)
                return f"v{start}"
        raise Unsupported("an epilogue with too many live values")

    def give(self, *groups: str) -> None:
        """Frees groups."""
        for group in groups:
            start = int(group[1:])
            self._free.update(range(start, start + self._sizes.pop(group)))

    def use_mask(self, size: int) -> None:
        """Reserves v0 for the mask of one operation on groups of `size` registers.

        Raises:
          Unsupported: v0 is in use.
        """
        if 0 not in self._free:
            raise Unsupported("a comparison among too many live values")
        self._track(size)

    @property
    def end(self) -> int:
        """Number of the register behind the highest one in use."""
        return max(set(range(self._count)) - self._free, default=-1) + 1

    def copy(self) -> Vectors:
        """Returns registers of which the same ones are free."""
        result = Vectors(self._count)
        result._free, result._sizes = set(self._free), dict(self._sizes)
        return result

    def _track(self, extra: int) -> None:
        self.peak = max(self.peak, self._count - len(self._free) + extra)


def part(group: str, offset: int) -> str:
    """Returns the register that is `offset` registers behind the first one of a group."""
    return f"v{int(group[1:]) + offset}"


@dataclass(frozen=True, slots=True)
class Lanes:
    """The shape of vector register groups.

    Attributes:
      count: lanes in use.
      lmul: registers of a group.
      length: integer register that holds `count`.
      strided: bytes between neighboring lanes, for each operand or result whose lanes are strided.
      offsets: group with the lanes' byte offsets, for each 32-bit operand whose lanes are gathered.
      bits: bits of an element in the epilogue.
    """

    count: int
    lmul: int
    length: str
    strided: Mapping[int, int] = field(default_factory=dict)
    offsets: Mapping[int, str] = field(default_factory=dict)
    bits: int = 32
