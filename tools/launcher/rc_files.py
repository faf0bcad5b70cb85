"""The rc files that Bazel reads: the launcher's own before all others, so that whatever a user says wins.

Of two values of an option in lines of one command, Bazel takes that of the later file, and what follows
--bazelrc comes after the files that it reads by itself. So it is told to read none by itself, and then
gets each by its name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tools.launcher.cache import keep

OF_THE_SYSTEM = Path("/etc/bazel.bazelrc")
# A folder that has one of them is a workspace.
_MARKERS = ("MODULE.bazel", "REPO.bazel", "WORKSPACE.bazel", "WORKSPACE")


def write(cache: Path, lines: Iterable[str]) -> Path:
    """Returns an rc file with these options for every command that knows them."""
    escaped = (line.replace("\\", r"\\").replace('"', r"\"") for line in lines)
    text = "".join(f'common "{line}"\n' for line in escaped)
    rc = cache / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.bazelrc"
    keep(rc, text.encode())
    return rc


def options(own: Path, startup: Sequence[str], folder: Path, env: Mapping[str, str]) -> list[str]:
    """The startup options that make Bazel read `own`, and then all that it would read without it.

    startup: options of the user's. folder: the one in which Bazel is started.
    """
    workspace = next(
        (parent for parent in (folder, *folder.parents) if _is_workspace(parent)), None
    )
    by_itself = {
        "--nosystem_rc": OF_THE_SYSTEM,
        "--noworkspace_rc": workspace and workspace / ".bazelrc",
        "--nohome_rc": Path(env["HOME"], ".bazelrc") if env.get("HOME") else None,
    }
    others = [
        file
        for option, file in by_itself.items()
        if option not in startup and file is not None and file.is_file()
    ]
    return [*by_itself, *(f"--bazelrc={file}" for file in (own, *others))]


def _is_workspace(folder: Path) -> bool:
    return any((folder / marker).is_file() for marker in _MARKERS)
