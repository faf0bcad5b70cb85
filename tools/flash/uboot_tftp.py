"""U-Boot over the network: the image lies in a TFTP server's folder, U-Boot is told to fetch it."""

from __future__ import annotations

import functools
import ipaddress
import re
import zlib
from pathlib import Path

from tools.cli import UserError
from tools.flash import pack
from tools.flash.job import Job, Step
from tools.flash.uboot import UBootMethod

_FETCHED = re.compile(r"Bytes transferred = (\d+)")
_TRIES = 3


def _check_address(server: str) -> None:
    """UserError if the server's address is anything but that: U-Boot would run what is behind it."""
    try:
        ipaddress.IPv4Address(server)
    except ValueError as error:
        raise UserError(
            f"--tftp-server cannot be {server!r}: name its IPv4 address, such as 10.0.0.1"
        ) from error


class UBootTftp(UBootMethod):
    """dhcp for an address, tftpboot, crc32, go."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        if job.tftp_server:
            _check_address(job.tftp_server)
        self._file = (job.tftp_root or Path("TFTP-ROOT")) / f"ironcast-{job.board.name}.img"
        self._fetch = f"tftpboot {self._load:#x} {self._file.name}"
        self._check = self.shell.sum_text(self._load, len(self._data))

    def steps(self) -> list[Step]:
        verify = Step(f"{self._check} must be {pack.crc(self._data)}", self._verify)
        return [
            Step(f"look for the folder {self._file.parent}", self._look),
            self._open(),
            pack.write_step(self._file, self._data),
            *(Step(command, functools.partial(self._run, command)) for command in self._setup()),
            Step(self._fetch, self._transfer),
            *([verify] if self._job.verify else []),
            Step(f"remove {self._file}", lambda: self._file.unlink(missing_ok=True)),
            self._start(),
        ]

    def _setup(self) -> list[str]:
        """An address of its own without fetching anything, then the server."""
        server = self._job.tftp_server
        return ["setenv autoload no", "dhcp"] + ([f"setenv serverip {server}"] if server else [])

    def _run(self, command: str) -> None:
        self._target.run(command, seconds=60)

    def _look(self) -> None:
        if self._job.tftp_root is None or not self._job.tftp_root.is_dir():
            raise UserError("name the folder that your TFTP server serves with --tftp-root")

    def _transfer(self) -> None:
        for _ in range(_TRIES):
            answer = self._target.run(self._fetch, seconds=600)
            fetched = _FETCHED.search(answer)
            if fetched and int(fetched[1]) == len(self._data):
                break
        else:
            last = " ".join(answer.split()[-12:])
            raise UserError(
                f"U-Boot could not fetch {self._file.name} ({last}): check the cable, that a TFTP "
                f"server serves {self._file.parent}, and its address (--tftp-server)"
            )
        self._job.progress(len(self._data), len(self._data))

    def _verify(self) -> None:
        if self._target.crc32(self._load, len(self._data)) != zlib.crc32(self._data):
            raise UserError(
                f"what U-Boot fetched is not {self._file.name}: nothing was started; another "
                "server may answer at this address (--tftp-server)"
            )
        self._job.say(f"verified: crc32 {pack.crc(self._data)} as computed by U-Boot")
