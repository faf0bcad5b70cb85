"""The forms in which boards take an image."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import zlib
from pathlib import Path

from tools.cli import UserError
from tools.flash import safety
from tools.flash.image import Image
from tools.flash.job import Job, Step, command

# Files that tools stamp with the time are the same for the same image.
_TIMELESS = {"SOURCE_DATE_EPOCH": "0"}
_UNTOUCHED = "nothing was written yet"


def crc(data: bytes) -> str:
    """CRC-32 as U-Boot prints it."""
    return f"{zlib.crc32(data):08x}"


def padded(image: Image, size: int, where: str) -> bytes:
    """The image filled up to `size` with what erased flash reads as."""
    data = image.flat()
    safety.check_room(image, len(data), size, where)
    return data.ljust(size, b"\xff")


def uimage(job: Job, raw: Path, out: Path) -> Step:
    """Packs `raw` for U-Boot's bootm, which checks both of its CRCs before it starts anything."""
    image = job.image
    argv = [job.tool("mkimage"), "-A", "riscv", "-O", "u-boot", "-T", "standalone", "-C", "none"]
    argv += ["-a", f"{image.address:#x}", "-e", f"{image.entry:#x}", "-n", "ironcast"]
    return command([*argv, "-d", str(raw), str(out)], _UNTOUCHED, _TIMELESS)


def uboot_script(job: Job, text: Path, out: Path) -> Step:
    """Packs a script that U-Boot runs by itself."""
    argv = [job.tool("mkimage"), "-A", "riscv", "-O", "linux", "-T", "script", "-C", "none"]
    return command([*argv, "-n", "ironcast", "-d", str(text), str(out)], _UNTOUCHED, _TIMELESS)


def write_step(path: Path, data: bytes) -> Step:
    """A step that is `write`."""
    return Step(f"write {len(data)} bytes to {path}", lambda: write(path, data))


def write(path: Path, data: bytes) -> None:
    """Writes a file so that it is the old one or the new one, whatever happens in between."""
    # Others may write to the folder, as to a TFTP server's. Nobody foresees this name, and it is no file or link yet.
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise _explain(error, path, len(data)) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _explain(error: OSError, path: Path, size: int) -> UserError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return UserError(
            f"no room for {size} bytes beside {path}, which is unchanged: free some, then run the "
            "same command again"
        )
    return UserError(f"{path} cannot be written ({error.strerror}); it is unchanged")
