"""Loaders in a board's ROM or boot loader that are spoken to by a program of their own."""

from __future__ import annotations

import sys

from tools.flash import pack
from tools.flash.board import number
from tools.flash.job import Console, Job, Step, command

_ESPTOOL = [sys.executable, "-m", "esptool"]
_RECOVERY = (
    "check the cable and that the board is in its loader, then run the same command again: the "
    "loader itself is not overwritten"
)


class _Programs:
    """Packs the image, then runs one or more programs."""

    has_console = False

    def __init__(self, job: Job) -> None:
        self._job = job
        self._file = job.work / "image.bin"

    def _argvs(self) -> list[list[str]]:
        raise NotImplementedError

    def _pack(self) -> Step:
        return pack.write_step(self._file, self._job.image.flat())

    def steps(self) -> list[Step]:
        *before, last = self._argvs()
        return [
            self._pack(),
            *(command(argv, _RECOVERY) for argv in before),
            command(last, _RECOVERY, after=self._report),
        ]

    def _report(self) -> None:
        size = self._file.stat().st_size
        self._job.progress(size, size)

    def console(self) -> Console | None:
        return None


class Fastboot(_Programs):
    """fastboot writes a partition; its protocol cannot read one back."""

    def _argvs(self) -> list[list[str]]:
        fastboot = [self._job.tool("fastboot")]
        if self._job.port:
            fastboot += ["-s", self._job.port]
        partition = str(self._job.settings["partition"])
        # It would look for options behind its command too.
        flash = [*fastboot, "--", "flash", partition, str(self._file)]
        return [flash, [*fastboot, "--", "reboot"]]


class Dfu(_Programs):
    """dfu-util downloads to an alternate setting, and uploads from it to compare."""

    def _argvs(self) -> list[list[str]]:
        job = self._job
        dfu = [job.tool("dfu-util")]
        if "device" in job.settings:
            dfu += ["-d", str(job.settings["device"])]
        if job.port:
            dfu += ["-S", job.port]
        dfu += ["-a", str(job.settings["alt"])]
        argvs = [[*dfu, "-D", str(self._file)]]
        if job.verify:
            read = self._file.with_suffix(".read")
            size = str(len(job.image.flat()))
            argvs += [[*dfu, "-U", str(read), "-Z", size]]
            argvs += [["cmp", "-n", size, str(self._file), str(read)]]
        return argvs


class EspTool(_Programs):
    """esptool makes the ROM's image format from the ELF, writes it and compares hashes."""

    def _argvs(self) -> list[list[str]]:
        job = self._job
        esptool = [*_ESPTOOL, "--chip", str(job.settings["chip"])]
        port = ["--port", job.port] if job.port else []
        offset = f"{number(job.settings, 'offset'):#x}"
        argvs = [[*esptool, *port, "write-flash", offset, str(self._file)]]
        if job.verify:
            argvs.append([*esptool, *port, "verify-flash", offset, str(self._file)])
        return argvs

    def _pack(self) -> Step:
        esptool = [*_ESPTOOL, "--chip", str(self._job.settings["chip"]), "elf2image"]
        return command(
            [*esptool, "--output", str(self._file), str(self._job.image.path)], _RECOVERY
        )
