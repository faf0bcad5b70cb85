"""Loaders in a board's ROM or boot loader that are spoken to by a program of their own."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.flash import pack, safety
from tools.flash.board import number
from tools.flash.job import Console, Job, shell, start

_ESPTOOL = [sys.executable, "-m", "esptool"]
_RECOVERY = (
    "check the cable and that the board is in its loader, then run the same command again: the "
    "loader itself is not overwritten"
)


class _Program:
    """Packs the image, then runs one or more programs."""

    has_console = False

    def __init__(self, job: Job) -> None:
        self._job = job
        self._file = job.work / "image.bin"

    def _argvs(self) -> list[list[str]]:
        raise NotImplementedError

    def _pack(self) -> None:
        pack.write(self._file, self._job.image.flat())

    def commands(self) -> list[str]:
        return [shell(argv) for argv in self._argvs()]

    def run(self) -> None:
        job = self._job
        safety.check_image(job.image, job.board)
        self._pack()
        for argv in self._argvs():
            start(argv, _RECOVERY)
        size = self._file.stat().st_size
        job.progress(size, size)

    def console(self) -> Console | None:
        return None


class Fastboot(_Program):
    """fastboot writes a partition; its protocol cannot read one back."""

    def _argvs(self) -> list[list[str]]:
        fastboot = [self._job.tool("fastboot")]
        if self._job.port:
            fastboot += ["-s", self._job.port]
        partition = str(self._job.settings["partition"])
        return [[*fastboot, "flash", partition, str(self._file)], [*fastboot, "reboot"]]


class Dfu(_Program):
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
            read = self._read()
            size = str(len(job.image.flat()))
            argvs += [[*dfu, "-U", str(read), "-Z", size]]
            argvs += [["cmp", "-n", size, str(self._file), str(read)]]
        return argvs

    def _read(self) -> Path:
        return self._file.with_suffix(".read")


class EspTool(_Program):
    """esptool makes the ROM's image format from the ELF, writes it and compares hashes."""

    def _argvs(self) -> list[list[str]]:
        job = self._job
        esptool = [*_ESPTOOL, "--chip", str(job.settings["chip"])]
        port = ["--port", job.port] if job.port else []
        offset = f"{number(job.settings, 'offset'):#x}"
        argvs = [[*esptool, *port, "write-flash", offset, str(self._file)]]
        if job.verify:
            argvs.append([*esptool, *port, "verify-flash", offset, str(self._file)])
        return [self.pack_argv(), *argvs]

    def pack_argv(self) -> list[str]:
        """The command that makes the image."""
        job = self._job
        chip = str(job.settings["chip"])
        esptool = [*_ESPTOOL, "--chip", chip, "elf2image"]
        return [*esptool, "--output", str(self._file), str(job.image.path)]

    def _pack(self) -> None:
        pass  # the first command does
