"""Starts what runs service firmware, as a file of the rule bm_validate says, and opens a model there."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bmc.artifacts import Signature
from tools.run.debug.program import Program
from tools.run.decode_status import decode
from tools.service.links import PortLink, ProgramLink
from tools.service.probe import ProbeLink
from tools.service.service import Service, ServiceError, Sizes

BAUD = 115200
# After this, no service firmware is at a port. A board that is reset when the port opens has started by then.
_GREETING_SECONDS = 10.0


def positive(text: str) -> int:
    """Reads the value of an option; raises ArgumentTypeError below 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def service(
    session: dict[str, Any], port: str, baud: int, greeting: float = _GREETING_SECONDS
) -> contextlib.AbstractContextManager[Service]:
    """Gives the service at `port`, behind the session's probe, or of its program.

    What is at a port must answer within `greeting` seconds.

    Raises:
      UserError: the probe, the program or the port cannot be used, there is neither, or no service answers at the port.
    """
    if session["probe"]:
        return _connected(ProbeLink(Program.of(session["probe"], port)), session["deadline"])
    if port:
        return _connected(PortLink(port, baud), session["deadline"], greeting)
    if session["run"]:
        return program(session["run"], session["path_tools"], session["deadline"])
    raise ServiceError(
        f"{session['board']} runs on no emulator: put its service firmware on the board with"
        " `.service.flash`, and give the port of its console with --port"
    )


def program(
    argv: Sequence[str], path_tools: Sequence[str], deadline: float
) -> contextlib.AbstractContextManager[Service]:
    """Gives the service of a program, which ends with the context; raises UserError."""
    return _connected(ProgramLink(argv, path_tools), deadline)


@contextlib.contextmanager
def _connected(
    link: PortLink | ProbeLink | ProgramLink, deadline: float, greeting: float | None = None
) -> Iterator[Service]:
    with contextlib.closing(link):
        root = Path(__file__).resolve().parents[2]
        connected = Service(link, deadline, lambda word: decode.describe(word, root))
        if greeting is not None:
            connected.greet(greeting)
        yield connected


def open_model(service: Service, index: int, name: str, entries: Sequence[Signature]) -> None:
    """Opens model `index`; raises ServiceError, also if that is not the model `name` with these entry points."""
    service.open(index, name, {entry.name: _sizes(entry) for entry in entries})


def _sizes(entry: Signature) -> Sizes:
    return Sizes(
        tuple(tensor.byte_count for tensor in entry.inputs),
        tuple(tensor.byte_count for tensor in entry.outputs),
    )
