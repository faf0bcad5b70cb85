"""OpenOCD: JTAG or cJTAG, into flash or straight into RAM."""

from __future__ import annotations

from tools.flash import safety
from tools.flash.board import number
from tools.flash.job import Console, Job, shell, start

_RECOVERY = (
    "check probe, wiring and power, then run the same command again: what was on the board before "
    "may be gone, what the probe reaches is not harmed"
)


class OpenOcd:
    """Writes the ELF at its own addresses, or its bytes at `address`."""

    has_console = False

    def __init__(self, job: Job) -> None:
        self._job = job

    def _script(self) -> str:
        job = self._job
        elf = f"{{{job.image.path}}}"
        in_ram = job.settings["kind"] == "ram"
        if "address" in job.settings:
            safety.check_image(job.image, job.board)
            raw = job.work / "image.bin"
            raw.write_bytes(job.image.flat())
            elf = f"{{{raw}}} {number(job.settings, 'address'):#x} bin"
        verify = f"; verify_image {elf}" if job.verify else ""
        if in_ram:
            # No reset: the memory controller stays as the boot loader has set it up. a1 would be
            # where a boot loader puts its device tree: there is none.
            begin = f"reg a1 0; reg pc {job.image.entry:#x}; resume"
            steps = f"halt; load_image {elf}{verify}; {begin}"
        else:
            steps = f"reset halt; flash write_image erase {elf}{verify}; reset run"
        return f"init; {steps}; shutdown"

    def _argv(self) -> list[str]:
        job = self._job
        argv = [job.tool("openocd")]
        if job.port:
            argv += ["-c", f"set PORT {job.port}"]
        argv += ["-s", str(job.board.folder)]
        config = job.settings["config"]
        assert isinstance(config, list)
        for file in config:
            argv += ["-f", file]
        for server in ("gdb", "tcl", "telnet"):
            argv += ["-c", f"{server}_port disabled"]
        return [*argv, "-c", self._script()]

    def commands(self) -> list[str]:
        return [shell(self._argv())]

    def run(self) -> None:
        start(self._argv(), _RECOVERY)
        if self._job.verify:
            self._job.say("verified by OpenOCD: what the board holds is the image")

    def console(self) -> Console | None:
        return None
