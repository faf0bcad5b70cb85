"""QEMU's parallel flash: a file as large as the chip."""

from __future__ import annotations

import hashlib

from tools.flash import pack, safety
from tools.flash.board import number
from tools.flash.errors import FlashError
from tools.flash.job import Console, Job


class Pflash:
    """Writes the chip's file beside the old one, reads it back, and only then replaces the old one."""

    has_console = False

    def __init__(self, job: Job) -> None:
        self._job = job
        self._size = number(job.settings, "size")
        self._target = job.target("the file with the contents of the chip")

    def commands(self) -> list[str]:
        said = [
            f"write {len(self._job.image.flat())} bytes, filled up with 0xff to {self._size}, "
            f"to {self._target}.new"
        ]
        if self._job.verify:
            said.append(f"read {self._target}.new and compare sha256")
        return [*said, f"rename {self._target}.new to {self._target}"]

    def run(self) -> None:
        job = self._job
        safety.check_image(job.image, job.board)
        data = pack.padded(job.image, self._size, f"the flash of {job.board.name}")
        new = self._target.with_name(self._target.name + ".new")
        if self._target.exists() and not self._target.is_file():
            raise FlashError(f"{self._target} is not a file: name the chip's image with --port")
        pack.write(new, data)
        job.progress(len(data), len(data))
        if job.verify:
            want = hashlib.sha256(data).hexdigest()
            if hashlib.sha256(new.read_bytes()).hexdigest() != want:
                new.unlink()
                raise FlashError(
                    f"{new} does not hold what was written: {self._target} is unchanged; check the "
                    "disk, then run the same command again"
                )
            job.say(f"verified: sha256 {want}")
        new.replace(self._target)

    def console(self) -> Console | None:
        return None
