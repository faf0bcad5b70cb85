"""U-Boot over the network: the image lies in a TFTP server's folder, U-Boot is told to fetch it."""

from __future__ import annotations

import re

from tools.flash import pack, safety, uboot
from tools.flash.board import number
from tools.flash.errors import FlashError
from tools.flash.job import Console, Job
from tools.flash.serial_line import SerialLine
from tools.flash.uboot import UBoot

_FETCHED = re.compile(r"Bytes transferred = (\d+)")
_TRIES = 3


class UBootTftp:
    """dhcp for an address, tftpboot, crc32, go."""

    has_console = True

    def __init__(self, job: Job) -> None:
        self._job = job
        self._load = number(job.settings, "load")
        self._baud = number(job.settings, "baud", 115200)
        self._data = pack.for_uboot(job, self._load)
        self._file = f"ironcast-{job.board.name}.img"
        self._line: SerialLine | None = None

    def _setup(self) -> list[str]:
        """An address of its own without fetching anything, then the server."""
        server = self._job.tftp_server
        return ["setenv autoload no", "dhcp"] + ([f"setenv serverip {server}"] if server else [])

    def _fetch(self) -> str:
        return f"tftpboot {self._load:#x} {self._file}"

    def _start(self) -> str:
        return pack.start_command(self._job, self._load)

    def commands(self) -> list[str]:
        job = self._job
        port = job.port or "PORT"
        root = job.tftp_root or "TFTP-ROOT"
        said = [
            f"write {len(self._data)} bytes to {root}/{self._file}",
            f"open {port} at {self._baud} baud, wait for U-Boot's prompt",
            *self._setup(),
            self._fetch(),
        ]
        if job.verify:
            check = uboot.crc32_command(self._load, len(self._data))
            said.append(f"{check} must be {pack.crc(self._data)}")
        return [*said, self._start()]

    def run(self) -> None:
        job = self._job
        safety.check_image(job.image, job.board)
        if job.tftp_root is None or not job.tftp_root.is_dir():
            raise FlashError("name the folder that your TFTP server serves with --tftp-root")
        pack.write(job.tftp_root / self._file, self._data)
        self._line = SerialLine(job.need_port("the serial port"), self._baud)
        target = UBoot(self._line, job.settings, job.wait_seconds)
        target.attach()
        for command in self._setup():
            target.run(command, seconds=60)
        for _ in range(_TRIES):
            answer = target.run(self._fetch(), seconds=600)
            fetched = _FETCHED.search(answer)
            if fetched and int(fetched[1]) == len(self._data):
                break
        else:
            last = " ".join(answer.split()[-12:])
            raise FlashError(
                f"U-Boot could not fetch {self._file} ({last}): check the cable, that a TFTP "
                f"server serves {job.tftp_root}, and its address (--tftp-server)"
            )
        job.progress(len(self._data), len(self._data))
        if job.verify:
            if pack.crc(self._data) != f"{target.crc32(self._load, len(self._data)):08x}":
                raise FlashError(
                    f"what U-Boot fetched is not {self._file}: nothing was started; another "
                    "server may answer at this address (--tftp-server)"
                )
            job.say(f"verified: crc32 {pack.crc(self._data)} as computed by U-Boot")
        target.start(self._start())
        (job.tftp_root / self._file).unlink(missing_ok=True)

    def console(self) -> Console | None:
        return self._line
