"""Boots images and ends those that hang, by a limit that the undamaged image sets."""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.emulate import process, result

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

    argv: tuple[str, ...]
    env: Mapping[str, str]
    instructions: int

    def boot(self, elf: Path) -> result.Outcome:
        argv = [*self.argv, f"--instructions={self.instructions}", str(elf)]
        run = process.run(argv, float("inf"), env=self.env)
        # At the limit, Spike ends with status 0, as after PASS.
        ended = run.records("PASS") or run.exit_status != 0
        return run if ended else result.Outcome(run.lines, None)


@dataclass(frozen=True)
class Qemu(Machine):
    """QEMU, which has only time for a limit."""

    argv: tuple[str, ...]
    seconds: float

    def boot(self, elf: Path) -> result.Outcome:
        return process.run([*self.argv, "-kernel", str(elf)], self.seconds)


def spike(program: Path, dtc: Path, elf: Path) -> tuple[Machine, result.Outcome]:
    """Returns Spike with a limit for `elf`, and the run of the undamaged image.

    Raises:
      Unfit: it does not pass.
    """
    argv = (str(program.absolute()), "--isa=rv64gcv_zvl256b_zicntr", "-m0x80000000:0x20000000")
    env = process.with_tools([str(dtc)])
    for limit in (_FIRST_LIMIT * _PATIENCE**power for power in itertools.count()):
        run = Spike(argv, env, limit).boot(elf)
        if run.exit_status is not None:
            return Spike(argv, env, limit * _PATIENCE), _passed(elf, run)
    raise AssertionError


def qemu(program: Path, elf: Path) -> tuple[Machine, result.Outcome]:
    """The same of QEMU."""
    argv = (str(program.absolute()), "-machine", "spike", "-m", "512M", "-bios", "none")
    argv += ("-nographic", "-monitor", "none")
    argv += ("-cpu", "rv64,v=true,vext_spec=v1.0,vlen=256,elen=64")
    start = time.monotonic()
    run = Qemu(argv, float("inf")).boot(elf)
    seconds = time.monotonic() - start
    return Qemu(argv, _PATIENCE * seconds + _GRACE), _passed(elf, run)


def _passed(elf: Path, run: result.Outcome) -> result.Outcome:
    verdict = result.judge(run)
    if not verdict.ok:
        raise Unfit(f"{elf}: the undamaged image does not pass: {verdict.sentence}")
    return run
