"""A deadline that follows what an emulator has done, so that a busy machine does not make a run fail."""

from __future__ import annotations

import os
import time
from pathlib import Path

# Below this share of a processor a program waits: for an interrupt that never comes, or for a child that does its work.
_WAITING = 0.01
_STEP_SECONDS = 1.0  # the kernel counts in hundredths of a second


class Deadline:
    """The end of a number of seconds in which a process computes.

    A second in which other programs had the processor does not count. One in which the process waited does, and so
    does every second where the system does not say (no /proc).
    """

    def __init__(self, pid: int, seconds: float) -> None:
        self._pid = pid
        self._left = seconds
        self._step = min(_STEP_SECONDS, seconds)
        self._time = time.monotonic()
        self._computed = computed_seconds(pid)

    @property
    def pause(self) -> float:
        """Seconds after which it is worth to look again."""
        return max(0.0, self._time + min(self._step, self._left) - time.monotonic())

    def passed(self) -> bool:
        now = time.monotonic()
        passed = now - self._time
        if passed >= min(self._step, self._left):
            computed = computed_seconds(self._pid)
            share = (computed - self._computed) / passed if passed else 1.0
            self._left -= passed * (1.0 if share < _WAITING else min(share, 1.0))
            self._time, self._computed = now, computed
        return self._left <= 0


def computed_seconds(pid: int) -> float:
    """Returns the processor seconds of a process, 0 if they are not known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
