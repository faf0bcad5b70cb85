"""OpenOCD: JTAG or cJTAG, into flash or straight into RAM."""

from __future__ import annotations

import re

from tools.flash import pack, trust
from tools.flash.board import Board, Settings, number
from tools.flash.image import Image
from tools.flash.job import Console, Job, Step, command

_RECOVERY = (
    "check probe, wiring and power, then run the same command again: what was on the board before "
    "may be gone, what the probe reaches is not harmed"
)


def word(text: object) -> str:
    """Text as one word of Tcl, in which nothing is replaced."""
    return re.sub(r"[^\w./:=@+-]", lambda c: "\\n" if c[0] == "\n" else f"\\{c[0]}", str(text))


def configured(openocd: str, board: Board, settings: Settings, port: str) -> list[str]:
    """OpenOCD, set up for a board; what it shall do there is added by the caller."""
    # It looks for scripts in its own folder first, and that of the user may be a stranger's.
    argv = [openocd, "-c", "cd /"]
    if port:
        argv += ["-c", f"set PORT {word(port)}"]
    argv += ["-s", str(board.folder.absolute())]
    config = settings["config"]
    assert isinstance(config, list)
    for file in config:
        # What -f is given would be put between braces, which a folder's name may close.
        path = board.folder.absolute() / file
        argv += ["-c", f"script {word(path if path.exists() else file)}"]
    return argv


def load(image: Image, what: str, in_ram: bool, verify: bool) -> str:
    """OpenOCD's commands that put an image on the board and halt before its first instruction.

    Args:
      what: the file that holds its bytes, as a word of Tcl, and where they go if it does not say so itself.
    """
    check = f"; verify_image {what}" if verify else ""
    if in_ram:
        # No reset: the memory controller stays as the boot loader has set it up. a1 would be where a
        # boot loader puts its device tree: there is none.
        return f"halt; load_image {what}{check}; reg a1 0; reg pc {image.entry:#x}"
    return f"reset halt; flash write_image erase {what}{check}; reset halt"


class OpenOcd:
    """Writes the ELF at its own addresses, or its bytes at `address`."""

    has_console = False

    def __init__(self, job: Job) -> None:
        self._job = job
        self._raw = job.work / "image.bin"

    def steps(self) -> list[Step]:
        steps = [command(self._argv(), _RECOVERY, after=self._say)]
        if "address" in self._job.settings:
            steps.insert(0, pack.write_step(self._raw, self._job.image.flat()))
        code = trust.strange(self._job.board)
        if code and not self._job.allow_code:
            steps.insert(0, Step(f"ask whether {code} may run", lambda: self._job.confirm(code)))
        return steps

    def _argv(self) -> list[str]:
        job = self._job
        argv = configured(job.tool("openocd"), job.board, job.settings, job.port)
        for server in ("gdb", "tcl", "telnet"):
            argv += ["-c", f"{server}_port disabled"]
        return [*argv, "-c", self._script()]

    def _script(self) -> str:
        job = self._job
        what = word(job.image.path)
        if "address" in job.settings:
            what = f"{word(self._raw)} {number(job.settings, 'address'):#x} bin"
        steps = load(job.image, what, job.settings["kind"] == "ram", job.verify)
        return f"init; {steps}; resume; shutdown"

    def _say(self) -> None:
        if self._job.verify:
            self._job.say("verified by OpenOCD: what the board holds is the image")

    def console(self) -> Console | None:
        return None
