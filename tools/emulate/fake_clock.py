"""A clock for tests, so that what they see does not depend on how fast the machine is."""

from __future__ import annotations

import math


class FakeClock:
    """Stands for the module `time`: goes on by `tick` seconds whenever it is read, and by nothing else."""

    def __init__(self, tick: float = 0.0) -> None:
        self._tick = tick
        self._now = 0.0

    def monotonic(self) -> float:
        """The time in seconds."""
        self._now += self._tick
        return self._now

    def pass_deadlines(self, _line: str = "") -> None:
        """Whatever the deadline is, it is over. Takes a line, so that one can be what is waited for."""
        self._now = math.inf
