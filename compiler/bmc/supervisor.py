"""The process that started bmc's: it says what takes long, and ends an import that takes more than a file may.

bmc's own process cannot do either: frameworks keep it in native code for hours. It tells this one through a pipe what
it begins and what it may take.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bmc import limits
from bmc.errors import BmcError
from bmc.limits import Limits

# Whoever waits longer wants to know for what. Each further message takes twice as long as the one before.
QUIET_SECONDS = 10.0
# Memory can grow by gigabytes in a second.
_LOOK_SECONDS = 0.25
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Fields of /proc/PID/stat behind the program's name: CPU time of itself and of children that have ended, and memory.
_TIMES, _RESIDENT = slice(11, 15), 21

_pipe: int | None = None
_tells_steps = False


def tell(**what: Any) -> None:
    """Tells the supervisor, if there is one: `phase`, `step` within it, or what an import may take."""
    if _pipe is not None:
        os.write(_pipe, json.dumps(what).encode() + b"\n")


@contextlib.contextmanager
def limited(name: str, allowed: Limits) -> Iterator[None]:
    """Lets the supervisor end what happens in a block if it takes more than `allowed`; `name` is the file's."""
    tell(name=name, limits=asdict(allowed))
    try:
        yield
    finally:
        tell(name="", limits=None)


def told_through(pipe: int, *, tells_steps: bool = False) -> None:
    """Makes this process, a child, tell its supervisor through a pipe."""
    global _pipe, _tells_steps
    _pipe, _tells_steps = pipe, tells_steps


def tells_steps() -> bool:
    """Whether a package crashed on the same work before, and the supervisor asks on which of its steps."""
    return _tells_steps


@dataclass
class Supervisor:
    """Watches a child that tells what it does through `pipe`."""

    child: int
    pipe: int
    _name: str = ""
    _limits: Limits | None = None
    _phase: str = ""
    _step: str = ""
    _unread: bytes = b""
    _begun: float = field(default_factory=time.monotonic)
    _silent: float = QUIET_SECONDS
    _computed: float = 0.0
    _last: float = 0.0

    def wait(self) -> int:
        """Returns the child's wait status; raises BmcError, after it has ended the child, if it takes too much."""
        process = os.pidfd_open(self.child)
        poll = select.poll()
        poll.register(process, select.POLLIN)
        poll.register(self.pipe, select.POLLIN)
        try:
            while True:
                ready = dict(poll.poll(_LOOK_SECONDS * 1000))
                if self.pipe in ready and not self._read():
                    poll.unregister(self.pipe)
                if process in ready:
                    return os.waitpid(self.child, 0)[1]
                self._report()
                self._enforce()
        finally:
            os.close(process)

    def _read(self) -> bool:
        """Takes in what the child tells; returns whether it may tell more."""
        data = os.read(self.pipe, 1 << 16)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            self._hear(json.loads(line))
        return bool(data)

    def _hear(self, what: dict[str, Any]) -> None:
        if "limits" in what:
            self._last = time.monotonic()
            self._name = what["name"]
            self._limits = Limits(**what["limits"]) if what["limits"] else None
        if "phase" in what:
            self._phase, self._step, self._silent = what["phase"], "", QUIET_SECONDS
            self._begun = time.monotonic()
        self._step = what.get("step", self._step)

    @property
    def step(self) -> str:
        """The step that the child told last, "" if that has ended."""
        return self._step

    @property
    def _doing(self) -> str:
        return f"{self._phase} ({self._step})" if self._step else self._phase

    def _report(self) -> None:
        took = time.monotonic() - self._begun
        if self._phase and took >= self._silent:
            self._silent *= 2
            sys.stderr.write(f"bmc: still busy after {took:.0f} s: {self._doing}\n")
            sys.stderr.flush()

    def _enforce(self) -> None:
        if self._limits is None:
            return
        seconds, resident = usage(self.child)
        allowed = self._limits
        if seconds != self._computed:
            self._computed, self._last = seconds, time.monotonic()
        error = None
        if seconds > allowed.cpu_seconds:
            error = self._over(
                "cpu_seconds", f"takes more than {allowed.cpu_seconds} s of CPU time"
            )
        elif resident > allowed.memory_gib << 30:
            error = self._over("memory_gib", f"takes more than {allowed.memory_gib} GiB of memory")
        elif time.monotonic() - self._last > allowed.idle_seconds:
            error = self._over("idle_seconds", f"has done nothing for {allowed.idle_seconds} s")
        if error:
            for process in (*descendants(self.child), self.child):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            os.waitpid(self.child, 0)
            raise error

    def _over(self, limit: str, what: str) -> BmcError:
        doing = f", in phase '{self._doing}'" if self._phase else ""
        more = 2 * getattr(self._limits, limit)
        return limits.exceeded(limit, more, f"the import of '{self._name}' {what}{doing}")


def usage(process: int) -> tuple[float, int]:
    """Returns the seconds of CPU time of a process and all that it started, and the bytes of memory they have."""
    ticks = pages = 0
    for one in (process, *descendants(process)):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{one}/stat").read_text(encoding="utf-8", errors="replace")
            fields = text.rpartition(")")[2].split()
            ticks += sum(map(int, fields[_TIMES]))
            pages += int(fields[_RESIDENT])
    return ticks / _TICKS, pages * _PAGE


def descendants(process: int) -> tuple[int, ...]:
    """Returns the processes that a process started, and those that they did."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (task / "children").read_text(encoding="ascii").split())
    return tuple(deeper for child in found for deeper in (child, *descendants(child)))
