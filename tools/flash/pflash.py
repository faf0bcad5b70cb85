"""QEMU's parallel flash: a file as large as the chip."""

from __future__ import annotations

import hashlib

from tools.cli import UserError
from tools.flash import pack
from tools.flash.board import number
from tools.flash.job import Console, Job, Step


class Pflash:
    """Writes the chip's file beside the old one, reads it back, and only then replaces the old one."""

    has_console = False

    def __init__(self, job: Job) -> None:
        self._job = job
        self._data = pack.padded(
            job.image, number(job.settings, "size"), f"the flash of {job.board.name}"
        )
        self._target = job.target("the file with the contents of the chip")
        if self._target.exists() and not self._target.is_file():
            raise UserError(f"{self._target} is not a file: name the chip's image with --port")
        self._new = self._target.with_name(self._target.name + ".new")

    def steps(self) -> list[Step]:
        write = Step(
            f"write {len(self._job.image.flat())} bytes, filled up with 0xff to {len(self._data)}, "
            f"to {self._new}",
            self._write,
        )
        verify = Step(f"read {self._new} and compare sha256", self._verify)
        rename = Step(
            f"rename {self._new} to {self._target}", lambda: self._new.replace(self._target)
        )
        return [write, *([verify] if self._job.verify else []), rename]

    def _write(self) -> None:
        pack.write(self._new, self._data)
        self._job.progress(len(self._data), len(self._data))

    def _verify(self) -> None:
        want = hashlib.sha256(self._data).hexdigest()
        if hashlib.sha256(self._new.read_bytes()).hexdigest() != want:
            self._new.unlink()
            raise UserError(
                f"{self._new} does not hold what was written: {self._target} is unchanged; check "
                "the disk, then run the same command again"
            )
        self._job.say(f"verified: sha256 {want}")

    def console(self) -> Console | None:
        return None
