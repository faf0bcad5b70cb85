"""What is said of a disk without space, whoever notices: bmc itself, a framework, or a program that bmc started."""

from __future__ import annotations

import errno
import os

from bmc.errors import BmcError

# What to do if the folder of temporary files is full.
TEMPORARY = "free some space in the folder of temporary files, or name another one with TMPDIR"

_NUMBERS = (errno.ENOSPC, errno.EDQUOT)
_MESSAGES = tuple(map(os.strerror, _NUMBERS))


def is_full(error: BaseException) -> bool:
    """Whether an error is that a disk is full, or was raised because of one that is."""
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, OSError) and reason.errno in _NUMBERS:
            return True
        reason = reason.__cause__ or reason.__context__
    return False


def is_said_full(messages: str) -> bool:
    """Whether a program says that a disk is full."""
    return any(message in messages for message in _MESSAGES)


def full(what: str, hint: str) -> BmcError:
    """Returns the error for a full disk: what cannot be written, and what to do."""
    return BmcError("disk-full", f"{what}: no space is left on the disk", hint=hint)
