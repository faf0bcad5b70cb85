"""Bazel's folder: the log of its server has the user's whole environment, passwords too."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tools.launcher.cache import make_folder


def close(cache: Path) -> None:
    """Lets only this user into the folder above Bazel's output user root, created if necessary.

    cache: the launcher's folder, beside which Bazel's is. Bazel opens its output user root itself to all, but not
    the folder above. A link's target stays as it is: it may be a folder for all.
    """
    folder = cache.parent / "bazel"
    try:
        make_folder(folder)
        found = folder.lstat()
        is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if is_own and stat.S_IMODE(found.st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError:  # Bazel says what it cannot create.
        return
