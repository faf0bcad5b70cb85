"""What the tests of real paths share: the tool as a program, and boards that are emulators."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path

CPU = "rv64,v=true,vext_spec=v1.0,vlen=256,elen=64"
# Of an emulator, in seconds: Bazel ends a test that hangs before that.
DEADLINE = 3600
# Of the tool for U-Boot's prompt: the machine may do other work, and Bazel ends the test soon after.
WAIT = 200


def path_of(variable: str) -> Path:
    """A file that Bazel named in the environment."""
    return Path(os.environ[variable]).absolute()


@dataclasses.dataclass(frozen=True)
class Done:
    """How the tool ended and all that it said."""

    status: int
    text: str


class Rig(unittest.TestCase):
    """A folder for each test, and programs that end with it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="flash-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self._board: subprocess.Popen[bytes] | None = None

    def flash(self, elf: Path, board: str, *args: str) -> Done:
        """Runs tools/flash to its end."""
        argv = [sys.executable, "-m", "tools.flash.main", str(elf)]
        argv += ["--board", str(Path("boards", board, "board.json").absolute())]
        argv += ["--wait", str(WAIT), *args]
        for name in ("dfu-util", "mkimage", "mtools", "openocd"):
            variable = name.upper().replace("-", "_")
            if variable in os.environ:
                argv += ["--tool", f"{name}={path_of(variable)}"]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        env["XDG_STATE_HOME"] = str(self.folder / "state")
        done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = " ".join(done.stdout.decode(errors="replace").split())
        return Done(done.returncode, text)

    def start(self, argv: Sequence[str], **options: object) -> subprocess.Popen[bytes]:
        """Starts a program that ends with the test at the latest; its output is in `log`."""
        with self.log.open("wb") as log:
            program = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                **options,  # type: ignore[call-overload]
            )
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self._board = program
        return program

    @property
    def log(self) -> Path:
        """What the started program printed."""
        return self.folder / "log.txt"

    def qemu(self, *args: str) -> list[str]:
        """QEMU's virt machine with vectors."""
        qemu = [str(path_of("QEMU")), "-machine", "virt", "-m", "512M", "-cpu", CPU]
        return [*qemu, "-display", "none", "-monitor", "none", *args]

    def serial(self, line: Path) -> list[str]:
        """QEMU's serial line: a socket, and all that the board says in `console`."""
        return ["-serial", f"unix:{line},server=on,wait=off,logfile={self.console}"]

    @property
    def console(self) -> Path:
        """What the board has said, also before somebody listened."""
        return self.folder / "console.txt"

    def u_boot(self, *args: str) -> Path:
        """Starts U-Boot in QEMU; returns the socket of its serial line."""
        line = self.folder / "serial"
        boot = ["-bios", str(path_of("U_BOOT")), *self.serial(line)]
        self.start_listening(line, self.qemu(*boot, *(args or ("-net", "none"))))
        return line

    def start_listening(self, line: Path, argv: Sequence[str]) -> None:
        """Starts an emulator and returns when its socket `line` is there."""
        program = self.start(argv)
        self.wait_until(line.exists, program)

    def wait_until(self, done: Callable[[], bool], program: subprocess.Popen[bytes]) -> None:
        """Waits for what a running program does, however long it takes; its end fails the test."""
        while not done():
            self.assertIsNone(program.poll(), self.log.read_text())
            time.sleep(0.05)

    def assert_passed(self, done: Done) -> None:
        """The tool ended well and the board said PASS."""
        self.assertEqual(done.status, 0, f"{done.text}\n{self._state_of_board()}")
        self.assertRegex(done.text, r"PASS: \d+ cases? match(es)? the framework's own output")

    def _state_of_board(self) -> str:
        """What a failure shows of the emulator: whether it runs, its own messages, the console."""
        said = self.console.read_text(errors="replace") if self.console.exists() else ""
        printed = self.log.read_text(errors="replace") if self.log.exists() else ""
        status = self._board.poll() if self._board else None
        return f"Emulator: exit status {status}, printed: {printed[-2000:]}\nThe board said: {said[-4000:]}"

    def assert_refused(self, done: Done, sentence: str) -> None:
        """The tool ended with a sentence and no traceback."""
        self.assertEqual(done.status, 2, done.text)
        self.assertNotIn("Traceback", done.text)
        self.assertRegex(done.text, "flash: .*" + sentence)
