"""The forms in which boards take an image."""

from __future__ import annotations

import contextlib
import errno
import os
import zlib
from pathlib import Path

from tools.flash import safety
from tools.flash.errors import FlashError
from tools.flash.image import Image
from tools.flash.job import Job, start

# Files that tools stamp with the time are the same for the same image.
_TIMELESS = {"SOURCE_DATE_EPOCH": "0"}


def crc(data: bytes) -> str:
    """CRC-32 as U-Boot prints it."""
    return f"{zlib.crc32(data):08x}"


def padded(image: Image, size: int, where: str) -> bytes:
    """The image filled up to `size` with what erased flash reads as."""
    data = image.flat()
    safety.check_room(image, len(data), size, where)
    return data.ljust(size, b"\xff")


def uimage_argv(mkimage: str, image: Image, raw: Path, out: Path) -> list[str]:
    """mkimage's command line: U-Boot's bootm checks both of its CRCs before it starts anything."""
    argv = [mkimage, "-A", "riscv", "-O", "u-boot", "-T", "standalone", "-C", "none"]
    argv += ["-a", f"{image.address:#x}", "-e", f"{image.entry:#x}", "-n", "ironcast"]
    return [*argv, "-d", str(raw), str(out)]


def uimage(job: Job) -> bytes:
    """U-Boot's legacy image format."""
    raw, out = job.work / "image.bin", job.work / "image.uimg"
    write(raw, job.image.flat())
    argv = uimage_argv(job.tool("mkimage"), job.image, raw, out)
    start(argv, "nothing was written yet", _TIMELESS)
    return out.read_bytes()


def script_argv(mkimage: str, text: Path, out: Path) -> list[str]:
    """mkimage's command line for a script that U-Boot runs by itself."""
    argv = [mkimage, "-A", "riscv", "-O", "linux", "-T", "script", "-C", "none"]
    return [*argv, "-n", "ironcast", "-d", str(text), str(out)]


def uboot_script(job: Job, text: str) -> bytes:
    """boot.scr."""
    source, out = job.work / "boot.txt", job.work / "boot.scr"
    write(source, text.encode())
    argv = script_argv(job.tool("mkimage"), source, out)
    start(argv, "nothing was written yet", _TIMELESS)
    return out.read_bytes()


def for_uboot(job: Job, load: int) -> bytes:
    """What is sent to `load`: the bytes themselves for `go`, a uImage for `bootm`."""
    if job.settings["start"] == "bootm":
        return uimage(job)
    if job.image.address != load:
        raise FlashError(
            f"{job.image.path.name} is linked for {job.image.address:#x} and {job.board.name} loads "
            f"at {load:#x}: memory.ldh and board.json of the board differ"
        )
    return job.image.flat()


def start_command(job: Job, load: int) -> str:
    """What U-Boot is told in the end."""
    if job.settings["start"] == "bootm":
        return f"setenv autostart yes; bootm {load:#x}"
    if job.settings["start"] == "go":
        return f"go {job.image.entry:#x}"
    # It wants the size too: the other core does not see what is in this one's caches.
    return f"{job.settings['start']} {job.image.entry:#x} {len(job.image.flat()):#x}"


def write(path: Path, data: bytes) -> None:
    """Writes a file so that it is the old one or the new one, whatever happens in between."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise _explain(error, path, len(data)) from error


def _explain(error: OSError, path: Path, size: int) -> FlashError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return FlashError(
            f"no room for {size} bytes beside {path}, which is unchanged: free some, then run the "
            "same command again"
        )
    return FlashError(f"{path} cannot be written ({error.strerror}); it is unchanged")
