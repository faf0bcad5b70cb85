"""The groups of vector registers that an epilogue may use."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.kernels.problem.product import Unsupported


@dataclass
class Groups:
    """Free groups in ascending order, and how many were in use at a time.

    The highest is taken first, so that v0 stays free for masks where that is possible.
    """

    free: list[int]
    most: int = 0

    def __post_init__(self) -> None:
        self._all = len(self.free)

    def take(self) -> int:
        if not self.free:
            raise Unsupported("an epilogue with so many values")
        group = self.free.pop()
        self._note(0)
        return group

    def give(self, group: int) -> None:
        self.free = sorted([*self.free, group])

    def use_mask(self) -> None:
        """Takes v0 for a moment."""
        if 0 not in self.free:
            raise Unsupported("a comparison among so many values")
        self._note(1)

    def _note(self, more: int) -> None:
        self.most = max(self.most, self._all - len(self.free) + more)
