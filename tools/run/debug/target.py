"""What gdb connects to: an emulator, or OpenOCD in front of an emulator or a board."""

from __future__ import annotations

import contextlib
import re
import socket as socketlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.cli import UserError
from tools.flash import board as boards
from tools.flash import image as images
from tools.flash import openocd, trust
from tools.run import process
from tools.run.debug.program import Program

_CONNECT_SECONDS = 20.0
# OpenOCD prints this once everything before it has succeeded.
_READY = "ironcast: ready"


@contextlib.contextmanager
def started(program: Program, console: int | None) -> Iterator[str]:
    """Starts the emulator or OpenOCD; yields the gdb command that connects to it.

    Raises:
      UserError: it did not start.
    """
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as ends:
        folder = Path(name)
        if not program.run:
            yield _gdb_through_probe(program, program.port, folder, ends)
            return
        socket, port = folder / "gdb", free_port()
        argv = [
            w.replace("{socket}", str(socket)).replace("{port}", str(port)) for w in program.wait
        ]
        emulator = process.start(argv, process.with_tools(program.path_tools), console)
        ends.callback(process.end, emulator)
        if not any("{port}" in word for word in program.wait):
            _await(emulator, socket.exists)
            yield f"target remote {socket}"
            return
        # Do not test this by connecting: Spike ends with its first connection.
        _await(emulator, lambda: listens(port))
        yield _gdb_through_probe(program, str(port), folder, ends)


def _gdb_through_probe(
    program: Program, port: str, folder: Path, ends: contextlib.ExitStack
) -> str:
    gdb_port = free_port()
    through_probe(program, port, folder, ends, f"gdb_port {gdb_port}; tcl_port disabled")
    return f"target extended-remote 127.0.0.1:{gdb_port}"


def through_probe(
    program: Program, port: str, folder: Path, ends: contextlib.ExitStack, servers: str
) -> None:
    """Starts OpenOCD with the board's openocd.cfg; loads the image if it is not there yet, and halts before it.

    Args:
      port: selects the probe.
      folder: for OpenOCD's log.
      ends: ends it.
      servers: OpenOCD's commands for the ports of gdb and Tcl.

    Raises:
      UserError: the board has no probe, or OpenOCD does not reach it.
    """
    try:
        board = boards.read(Path(program.description))
        settings = board.settings("openocd")
    except UserError:
        raise UserError(
            f"{program.board} has no debug probe configured: name a board that has one with --board, or"
            " give its board.json the method openocd and an openocd.cfg, as boards/README.md says; in an"
            " emulator, `.debug` and `.validate` need none"
        ) from None
    if code := trust.strange(board):
        trust.confirm(code)
    steps = "halt"
    if not program.run:
        image = images.read(Path(program.elf))
        steps = openocd.load(
            image, openocd.word(image.path), settings["kind"] == "ram", verify=True
        )
    argv = openocd.configured(program.openocd, board, settings, port)
    argv += ["-c", f"{servers}; telnet_port disabled"]
    argv += ["-c", f"init; {steps}; echo {{{_READY}}}"]
    log = folder / "openocd.log"
    with log.open("wb") as file:
        server = process.start(argv, stdout=file.fileno())
    ends.callback(process.end, server)
    # No time limit: a large image may take long, and OpenOCD gives up by itself.
    while _READY not in (said := log.read_text(errors="replace")):
        if server.poll() is not None:
            errors = [line for line in said.splitlines() if line.startswith("Error: ")]
            reason = (errors or said.split("\n")[-2:] or ["it said nothing"])[0]
            raise UserError(
                f"OpenOCD cannot debug {program.board} ({reason.removeprefix('Error: ').strip()}):"
                " check probe, wiring and power; `tools/bazel run //tools/flash -- --list` shows probes"
            )
        time.sleep(0.05)


def free_port() -> int:
    with socketlib.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def listens(port: int) -> bool:
    table = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    return re.search(rf":{port:04X} \S+ 0A ", table) is not None


def _await(emulator: subprocess.Popen[bytes], is_ready: Callable[[], bool]) -> None:
    end = time.monotonic() + _CONNECT_SECONDS
    while not is_ready():
        if emulator.poll() is not None:
            raise UserError(f"the emulator ended with exit status {emulator.returncode} at once")
        if time.monotonic() > end:
            raise UserError(f"the emulator was not ready for gdb within {_CONNECT_SECONDS:g} s")
        time.sleep(0.05)
