"""A clock for tests, so that their results do not depend on the machine's speed."""

from __future__ import annotations

import math


class FakeClock:
    """Replaces the module `time`. It advances by `tick` seconds at each reading, and only then."""

    def __init__(self, tick: float = 0.0) -> None:
        self._tick = tick
        self._now = 0.0

    def monotonic(self) -> float:
        """The time in seconds."""
        self._now += self._tick
        return self._now

    def pass_deadlines(self, _line: str = "") -> None:
        """Makes any deadline pass. Takes a line, so that it can be an `on_line` callback."""
        self._now = math.inf
