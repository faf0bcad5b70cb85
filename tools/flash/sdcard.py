"""An SD card, USB stick or disk image that U-Boot boots: one FAT partition with a boot script.

The script tries `ironcast.img`, then `ironcast.old`; both are uImages, whose CRCs U-Boot checks. A
card that has been written before keeps the image that worked as `ironcast.old`.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from tools.flash import disks, pack, safety
from tools.flash.board import number
from tools.flash.errors import FlashError
from tools.flash.job import Console, Job, Progress, shell, start

_SECTOR = 512
_FIRST = 2048  # sectors: where partitions are aligned to
_OFFSET = _FIRST * _SECTOR
_DISTRO = "${devtype} ${devnum}:${distro_bootpart}"

_SCRIPT = """\
# Ironcast boot script, version 1
setenv autostart yes
for image in ironcast.img ironcast.old; do
  if fatload {interface} {stage:#x} $image; then bootm {stage:#x}; fi
done
"""


class SdCard:
    """Writes a whole card, or replaces the image on one that was written before."""

    has_console = False

    def __init__(self, job: Job) -> None:
        self._job = job
        self._size = number(job.settings, "size")
        self._target = job.target("the card's disk, or a file,")

    def _partition(self, file: Path) -> str:
        return f"{file}@@{_OFFSET}"

    def _ours(self) -> bool:
        """Whether the target was written by this method before."""
        try:
            with self._target.open("rb") as disk:
                first = disk.read(_SECTOR)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise FlashError(f"{self._target} cannot be read: {error.strerror}") from error
        return first == master_boot_record(self._size)

    def _update(self, image: Path) -> list[list[str]]:
        """Command lines, each of which leaves a card that boots the new or the previous image."""
        part = self._partition(self._target)
        mtools = [self._job.tool("mtools"), "-c"]
        return [
            [*mtools, "mcopy", "-o", "-i", part, str(image), "::ironcast.new"],
            [*mtools, "mcopy", "-n", "-o", "-i", part, "::ironcast.new", f"{image}.read"],
            [*mtools, "mren", "-o", "-i", part, "::ironcast.img", "::ironcast.old"],
            [*mtools, "mren", "-o", "-i", part, "::ironcast.new", "::ironcast.img"],
        ]

    def commands(self) -> list[str]:
        job = self._job
        image = job.work / "ironcast.img"
        raw = job.work / "image.bin"
        said = [shell(pack.uimage_argv(job.tool("mkimage"), job.image, raw, image))]
        if self._ours():
            return said + [shell(argv) for argv in self._update(image)]
        return [
            *said,
            *(shell(argv) for argv in self._format(job.work / "card.img", image)),
            f"write {self._size} bytes to {self._target}, its partition table last",
            *([f"read {self._target} and compare"] if job.verify else []),
        ]

    def _format(self, card: Path, image: Path) -> list[list[str]]:
        part = self._partition(card)
        mtools = [self._job.tool("mtools"), "-c"]
        sectors = str(self._size // _SECTOR - _FIRST)
        return [
            [
                *mtools,
                "mformat",
                "-i",
                part,
                "-T",
                sectors,
                "-h",
                "255",
                "-s",
                "63",
                "-H",
                str(_FIRST),
            ]
            + ["-N", "49524f4e", "-v", "IRONCAST", "::"],
            [*mtools, "mcopy", "-i", part, str(image), "::ironcast.img"],
            [*mtools, "mcopy", "-i", part, str(image.with_name("boot.scr")), "::boot.scr"],
        ]

    def run(self) -> None:
        job = self._job
        safety.check_image(job.image, job.board)
        disks.check(self._target)
        uimage = pack.uimage(job)
        safety.check_room(job.image, len(uimage) * 2, self._size - _OFFSET, "the card's partition")
        image = job.work / "ironcast.img"
        pack.write(image, uimage)
        if self._ours():
            self._replace(image, uimage)
        else:
            self._create(image)

    def _replace(self, image: Path, uimage: bytes) -> None:
        recovery = "the card still boots the previous image: run the same command again"
        copy, read, *rename = self._update(image)
        start(copy, recovery)
        self._job.progress(len(uimage), len(uimage))
        start(read, recovery)
        if image.with_name(image.name + ".read").read_bytes() != uimage:
            raise FlashError(f"{self._target} does not hold what was written: {recovery}")
        for argv in rename:
            start(argv, recovery)
        self._job.say("verified; the previous image is kept as ironcast.old")

    def _create(self, image: Path) -> None:
        job = self._job
        settings = job.settings
        script = _SCRIPT.format(
            interface=settings.get("interface", _DISTRO), stage=number(settings, "stage")
        )
        pack.write(image.with_name("boot.scr"), pack.uboot_script(job, script))
        card = job.work / "card.img"
        try:
            with card.open("wb") as file:
                file.write(master_boot_record(self._size))
                file.truncate(self._size)
        except OSError as error:
            raise FlashError(f"no room for the card's image in {job.work}: free some") from error
        for argv in self._format(card, image):
            start(argv, "the card is unchanged")
        data = card.read_bytes()
        if self._target.exists() and not self._target.is_file():
            write_disk(self._target, data, job.progress)
        else:
            pack.write(self._target, data)
            job.progress(len(data), len(data))
        if job.verify:
            if read_back(self._target, len(data)) != data:
                raise FlashError(
                    f"{self._target} does not hold what was written: it is worn out or smaller than "
                    "it says; use another one"
                )
            job.say(f"verified: {len(data)} bytes read back from {self._target}")

    def console(self) -> Console | None:
        return None


def master_boot_record(size: int) -> bytes:
    """A partition table with one bootable FAT32 partition over the rest of `size` bytes."""
    count = size // _SECTOR - _FIRST
    chs = b"\xfe\xff\xff"  # "too large for CHS"
    entry = b"\x80" + chs + b"\x0c" + chs + struct.pack("<II", _FIRST, count)
    return b"\0" * 440 + b"IRON\0\0" + entry + b"\0" * 48 + b"\x55\xaa"


def write_disk(target: Path, data: bytes, progress: Progress, chunk: int = 1 << 20) -> None:
    """Writes a disk, its first sector last: a half-written one is seen as empty, not booted."""
    recovery = (
        "its partition table was not written, so that it does not boot half an image: put it back "
        "in and run the same command again"
    )
    try:
        # O_EXCL: the kernel refuses a disk that something has mounted meanwhile.
        disk = os.open(target, os.O_WRONLY | os.O_EXCL)
        try:
            os.pwrite(disk, b"\0" * _SECTOR, 0)
            for at in range(0, len(data), chunk):
                start_at = max(at, _SECTOR)
                os.pwrite(disk, data[start_at : at + chunk], start_at)
                progress(min(at + chunk, len(data)), len(data))
            os.fsync(disk)
            os.pwrite(disk, data[:_SECTOR], 0)
            os.fsync(disk)
        finally:
            os.close(disk)
    except OSError as error:
        raise FlashError(f"writing {target} failed ({error.strerror}); {recovery}") from error


def read_back(target: Path, size: int) -> bytes:
    """The first `size` bytes of the medium itself, not of the page cache."""
    with target.open("rb") as disk:
        os.posix_fadvise(disk.fileno(), 0, size, os.POSIX_FADV_DONTNEED)
        return disk.read(size)
