"""The program being debugged."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from bmc.report import Model
from tools.cli import UserError
from tools.report.files import load


@dataclasses.dataclass(frozen=True)
class Program:
    """An image to debug.

    Attributes:
      board: the board it was linked for.
      description: that board's board.json.
      elf: the image, with symbols.
      reports: report.json of every model in it.
      run: command that runs it without a debugger; () if only its board can run it.
      wait: the same, waiting for gdb at the socket `{socket}` or for OpenOCD at the port `{port}`;
        () for a program on this machine or on a board.
      openocd: the OpenOCD program.
      path_tools: programs that the emulator looks for on PATH.
      deadline: seconds that an unattended run may take.
      port: selects the board's probe, if its openocd.cfg needs it.
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
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in data.items()
        }
        return Program(**values, port=port)

    def report(self, model: str) -> Model:
        """Returns the report of a model, or of the first one for ""; raises UserError."""
        for path in self.reports:
            report = load(Path(path), Model)
            if model in ("", report.name):
                return report
        raise UserError(f"the image has no model {model or 'at all'}")
