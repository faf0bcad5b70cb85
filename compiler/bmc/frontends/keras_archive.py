"""Checks the archive that a .keras file is, before Keras opens it."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from bmc import limits
from bmc.errors import BmcError
from bmc.limits import Limits
from bmc.names import printable

# Text that describes a model; of the largest networks in keras.applications, it has 1 MB.
_TEXT_BYTES = 2**26


def check(path: Path, allowed: Limits) -> None:
    """Checks an archive's names, sizes and checksums.

    Keras alone misses damaged weights: it seeks while reading, after which zipfile in Python 3.13 checks nothing.

    Raises:
      BmcError: the file is no such archive, names places outside of itself, or unpacks to too many bytes.
    """
    damaged = BmcError(
        "bad-file",
        f"'{path.name}' is damaged or not a .keras file",
        hint="save the model again",
    )
    try:
        with zipfile.ZipFile(path) as archive:
            _check_members(path, archive.infolist(), allowed)
            if archive.testzip() is not None:
                raise damaged
    except BmcError:
        raise
    except Exception:  # whatever a damaged archive makes zipfile and zlib raise
        raise damaged from None


def _check_members(path: Path, members: list[zipfile.ZipInfo], allowed: Limits) -> None:
    names = [member.filename for member in members]
    for name in names:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or "\\" in name or names.count(name) > 1:
            raise BmcError(
                "unsafe-file",
                f"'{path.name}' contains '{printable(name)[:100]}', which is no part of a model",
                hint="save the model again with keras.Model.save()",
            )
    for member in members:
        if member.filename.endswith(".json") and member.file_size > _TEXT_BYTES:
            raise BmcError(
                "bad-file",
                f"'{member.filename}' in '{path.name}' has {member.file_size:,} bytes, more than"
                f" {_TEXT_BYTES:,}",
                hint="save the model again with keras.Model.save()",
            )
    # What is stored as it is may be as large as the file.
    unpacked = sum(member.file_size for member in members)
    if unpacked > max(allowed.tensor_bytes, path.stat().st_size):
        raise limits.exceeded(
            "tensor_bytes",
            unpacked,
            f"'{path.name}' unpacks to {unpacked:,} bytes, more than {allowed.tensor_bytes:,}",
        )
