"""The phases of an import, for users who wait for it."""

from __future__ import annotations

import logging
import sys
from types import TracebackType

from bmc import supervisor

# Phases that several frontends have.
LOAD = "load"
QUANTIZE = "quantize"
GOLDEN = "golden data"
EXPORT = "export"
CONVERT = "convert"
HOST_CHECK = "host check"
OPTIMIZE = "optimize"
COMPILE = "compile"

_LOG = logging.getLogger(__name__)
# Not also as a log message.
_LOG.propagate = False


def begin(phase: str) -> None:
    """Ends the phase before this one."""
    supervisor.tell(phase=phase)
    _LOG.info(phase)


class Phases(logging.Handler):
    """Shows each phase on a terminal as it begins, and measures all that begin in a `with` block."""

    def __init__(self) -> None:
        super().__init__()
        self._begun: list[tuple[str, float]] = []

    def __enter__(self) -> Phases:
        _LOG.setLevel(logging.INFO)
        _LOG.addHandler(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _LOG.removeHandler(self)
        _LOG.setLevel(logging.NOTSET)

    def emit(self, record: logging.LogRecord) -> None:
        phase = record.getMessage()
        start = self._begun[0][1] if self._begun else record.created
        self._begun.append((phase, record.created))
        # Only there does anybody watch. The stream of this moment, which quiet.native() replaces.
        if sys.stderr.isatty():
            sys.stderr.write(f"bmc: {record.created - start:5.1f} s: {phase}\n")

    def summary(self, end: float) -> str:
        """Returns the seconds of each phase up to the time `end`, such as "load 6.1 s, export 2.0 s"."""
        seconds: dict[str, float] = {}
        ends = [begin for _, begin in self._begun[1:]] + [end]
        for (phase, start), stop in zip(self._begun, ends, strict=True):
            seconds[phase] = seconds.get(phase, 0.0) + stop - start
        return ", ".join(f"{phase} {took:.1f} s" for phase, took in seconds.items())
