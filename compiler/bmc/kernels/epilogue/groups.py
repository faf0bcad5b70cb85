"""Allocates the vector register groups of an epilogue."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.kernels.problem.product import Unsupported


@dataclass
class Groups:
    """Allocates groups, the highest one first: v0 stays free for masks as long as possible.

    Attributes:
      free: numbers of the free groups, in ascending order.
      peak: how many groups were in use at once, at most.
    """

    free: list[int]
    peak: int = 0

    def __post_init__(self) -> None:
        self._count = len(self.free)

    def take(self) -> int:
        if not self.free:
            raise Unsupported("an epilogue with too many live values")
        group = self.free.pop()
        self._track(0)
        return group

    def give(self, group: int) -> None:
        self.free = sorted([*self.free, group])

    def use_mask(self) -> None:
        """Reserves v0 for the mask of one operation."""
        if 0 not in self.free:
            raise Unsupported("a comparison among too many live values")
        self._track(1)

    def _track(self, extra: int) -> None:
        self.peak = max(self.peak, self._count - len(self.free) + extra)
