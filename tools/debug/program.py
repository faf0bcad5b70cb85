"""What is debugged, and the error that ends debugging."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any


class DebugError(Exception):
    """The session could not be held; the message is one sentence for the user."""


@dataclasses.dataclass(frozen=True)
class Program:
    """An image to debug.

    Attributes:
      board: what it was linked for.
      description: board.json of that board.
      elf: the image with symbols.
      reports: report.json of every model in it.
      run: command that runs it without a debugger; () for what only its board runs.
      wait: the same, waiting for gdb at the socket `{socket}`, or for OpenOCD at the port `{port}`;
        () for a program of this machine, or of a board.
      openocd: the program.
      path_tools: programs that the emulator looks for on PATH.
      deadline: seconds that a run without a person may take.
      port: what tells the board's probe from others, where its openocd.cfg asks for that.
    """

    board: str
    description: str
    elf: str
    reports: tuple[str, ...]
    run: tuple[str, ...]
    wait: tuple[str, ...]
    openocd: str
    path_tools: tuple[str, ...]
    deadline: float
    port: str = ""

    @staticmethod
    def of(data: dict[str, Any], port: str = "") -> Program:
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        return Program(**values, port=port)

    def report(self, model: str) -> dict[str, Any]:
        """Returns the report of a model, of the first one for ""; raises DebugError."""
        for path in self.reports:
            report: dict[str, Any] = json.loads(Path(path).read_text())
            if model in ("", report["name"]):
                return report
        raise DebugError(f"the image has no model {model or 'at all'}")
