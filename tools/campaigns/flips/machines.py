"""Boots images and ends those that hang, by a limit that the undamaged image sets."""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from tools.run import result
from tools.run.kit import Kit

# Where the campaign and its test find the commands of the emulators, and which two they use.
KIT = Path("tools/campaigns/models/spike.json")
_SPIKE = "spike_vlen256"
_QEMU = "qemu_vlen256"

# A damaged image that takes this many times as long as an undamaged one hangs.
_PATIENCE = 4
# Seconds that no boot takes: QEMU's start on a busy machine, or Spike's at its limit.
_GRACE = 60.0
_FIRST_LIMIT = 2**20


class Unfit(Exception):
    """The undamaged image does not pass; the text is for the user."""


class Machine(ABC):
    """An emulator with a limit for one image."""

    @abstractmethod
    def boot(self, elf: Path) -> result.Outcome:
        """Runs an image to its end or to the limit."""


@dataclass(frozen=True)
class Spike(Machine):
    """Spike, which can stop after a number of instructions: the same on every machine."""

    kit: Kit
    instructions: int

    def boot(self, elf: Path) -> result.Outcome:
        limit = f"--instructions={self.instructions}"
        run = self.kit.run(elf, _SPIKE, options=[limit], deadline=float("inf"))
        # At the limit, Spike ends with status 0, as after PASS.
        ended = run.records("PASS") or run.exit_status != 0
        return run if ended else result.Outcome(run.lines, None)


@dataclass(frozen=True)
class Qemu(Machine):
    """QEMU, which has only time for a limit."""

    kit: Kit
    seconds: float

    def boot(self, elf: Path) -> result.Outcome:
        return self.kit.run(elf, _QEMU, deadline=self.seconds)


def spike(kit: Kit, elf: Path) -> tuple[Machine, result.Outcome]:
    """Returns Spike with a limit for `elf`, and the run of the undamaged image.

    Raises:
      Unfit: it does not pass.
    """
    for limit in (_FIRST_LIMIT * _PATIENCE**power for power in itertools.count()):
        run = Spike(kit, limit).boot(elf)
        if run.exit_status is not None:
            return Spike(kit, limit * _PATIENCE), _passed(elf, run)
    raise AssertionError


def qemu(kit: Kit, elf: Path) -> tuple[Machine, result.Outcome]:
    """The same of QEMU."""
    start = time.monotonic()
    run = Qemu(kit, float("inf")).boot(elf)
    seconds = time.monotonic() - start
    return Qemu(kit, _PATIENCE * seconds + _GRACE), _passed(elf, run)


def _passed(elf: Path, run: result.Outcome) -> result.Outcome:
    verdict = result.judge(run)
    if not verdict.ok:
        raise Unfit(f"{elf}: the undamaged image does not pass: {verdict.sentence}")
    return run
