"""An SD card, USB stick or disk image that U-Boot boots: one FAT partition with a boot script.

The script tries `ironcast.img`, then `ironcast.old`; both are uImages, whose CRCs U-Boot checks. A
card that has been written before keeps the image that worked as `ironcast.old`.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from tools.cli import UserError
from tools.flash import disks, pack, safety
from tools.flash.board import number
from tools.flash.job import Console, Job, Progress, Step, command

_SECTOR = 512
_FIRST = 2048  # sectors: where partitions are aligned to
_OFFSET = _FIRST * _SECTOR
_DISTRO = "${devtype} ${devnum}:${distro_bootpart}"
_STILL_BOOTS = "the card still boots the previous image: run the same command again"

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
        self._image = job.work / "ironcast.img"
        self._card = job.work / "card.img"

    def steps(self) -> list[Step]:
        job = self._job
        raw = job.work / "image.bin"
        return [
            Step(
                f"look whether {self._target} is a file, or a removable disk that nothing uses",
                lambda: disks.check(self._target),
            ),
            pack.write_step(raw, job.image.flat()),
            pack.uimage(job, raw, self._image),
            Step(f"look whether {self._image} fits into the card twice", self._check_room),
            *(self._replace() if self._ours() else self._create()),
        ]

    def _ours(self) -> bool:
        """Whether the target was written by this method before."""
        try:
            with self._target.open("rb") as disk:
                first = disk.read(_SECTOR)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise UserError(f"{self._target} cannot be read: {error.strerror}") from error
        return first == master_boot_record(self._size)

    def _check_room(self) -> None:
        twice = 2 * self._image.stat().st_size
        safety.check_room(self._job.image, twice, self._size - _OFFSET, "the card's partition")

    def _replace(self) -> list[Step]:
        """Steps, each of which leaves a card that boots the new or the previous image."""
        read = self._image.with_suffix(".read")

        def mtools(*args: str) -> Step:
            return self._mtools(self._target, _STILL_BOOTS, *args)

        return [
            mtools("mcopy", "-o", str(self._image), "::ironcast.new"),
            mtools("mcopy", "-n", "-o", "::ironcast.new", str(read)),
            Step(f"compare {read} and {self._image}", lambda: self._compare(read)),
            mtools("mren", "-o", "::ironcast.img", "::ironcast.old"),
            mtools("mren", "-o", "::ironcast.new", "::ironcast.img"),
        ]

    def _compare(self, read: Path) -> None:
        image = self._image.read_bytes()
        self._job.progress(len(image), len(image))
        if read.read_bytes() != image:
            raise UserError(f"{self._target} does not hold what was written: {_STILL_BOOTS}")
        self._job.say("verified; the previous image is kept as ironcast.old")

    def _create(self) -> list[Step]:
        """Steps that make a card in a file, then write it whole."""
        job = self._job
        text, script = job.work / "boot.txt", job.work / "boot.scr"
        content = _SCRIPT.format(
            interface=job.settings.get("interface", _DISTRO), stage=number(job.settings, "stage")
        )

        def mtools(*args: str) -> Step:
            return self._mtools(self._card, "the card is unchanged", *args)

        sectors = str(self._size // _SECTOR - _FIRST)
        geometry = ["-T", sectors, "-h", "255", "-s", "63", "-H", str(_FIRST)]
        verify = Step(f"read {self._target} and compare", self._verify)
        return [
            pack.write_step(text, content.encode()),
            pack.uboot_script(job, text, script),
            Step(f"make {self._card}: {self._size} bytes, a partition table", self._partition),
            mtools("mformat", *geometry, "-N", "49524f4e", "-v", "IRONCAST", "::"),
            mtools("mcopy", str(self._image), "::ironcast.img"),
            mtools("mcopy", str(script), "::boot.scr"),
            Step(
                f"write {self._size} bytes to {self._target}, its partition table last",
                self._write,
            ),
            *([verify] if job.verify else []),
        ]

    def _mtools(self, card: Path, recovery: str, program: str, *args: str) -> Step:
        """A program of mtools on the card's partition."""
        partition = ["-i", f"{card}@@{_OFFSET}"]
        return command([self._job.tool("mtools"), "-c", program, *partition, *args], recovery)

    def _partition(self) -> None:
        try:
            with self._card.open("wb") as file:
                file.write(master_boot_record(self._size))
                file.truncate(self._size)
        except OSError as error:
            raise UserError(
                f"no room for the card's image in {self._card.parent}: free some"
            ) from error

    def _write(self) -> None:
        data = self._card.read_bytes()
        if self._target.exists() and not self._target.is_file():
            write_disk(self._target, data, self._job.progress)
        else:
            pack.write(self._target, data)
            self._job.progress(len(data), len(data))

    def _verify(self) -> None:
        data = self._card.read_bytes()
        if read_back(self._target, len(data)) != data:
            raise UserError(
                f"{self._target} does not hold what was written: it is worn out or smaller than "
                "it says; use another one"
            )
        self._job.say(f"verified: {len(data)} bytes read back from {self._target}")

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
        raise UserError(f"writing {target} failed ({error.strerror}); {recovery}") from error


def read_back(target: Path, size: int) -> bytes:
    """The first `size` bytes of the medium itself, not of the page cache."""
    with target.open("rb") as disk:
        os.posix_fadvise(disk.fileno(), 0, size, os.POSIX_FADV_DONTNEED)
        return disk.read(size)
