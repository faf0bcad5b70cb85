"""A board's files that are code, and the user's word before they run for the first time.

What a board.json says is data. OpenOCD's configurations are Tcl, which may start any program. They run without a
question if they come from the user's workspace or from Ironcast, as BUILD files do.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.cli import UserError
from tools.flash.board import CODE_SUFFIXES, Board
from tools.printable import printable

# The tree that this program is of.
_OWN = Path(__file__).resolve().parents[2]
_MAX_FILES = 10_000
_MAX_BYTES = 64 << 20
_ELF_MAGIC = b"\x7fELF"
_REMEMBERED = "board-code"


@dataclasses.dataclass(frozen=True)
class Code:
    """Scripts of a board that OpenOCD may run and nobody has agreed to.

    `digest` is also of all other files in the board's folder: a script may read any of them as code.
    `doubt` says why earlier answers are not believed; "" if they are.
    """

    folder: Path
    files: tuple[Path, ...]
    digest: str
    doubt: str = ""

    def __str__(self) -> str:
        names = [str(file.relative_to(self.folder)) for file in self.files]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return _line(f"{', '.join(names[:3])}{more} in {self.folder.absolute()}")


def strange(board: Board) -> Code | None:
    """Code beside board.json that is from elsewhere and was not agreed to; UserError if it cannot be read."""
    found = sorted(file for file in _files(board) if not _at_home(file))
    scripts = tuple(file for file in found if _is_script(file))
    if not scripts:
        return None
    digest = hashlib.sha256()
    left = _MAX_BYTES
    for file in found:
        content = _content(file, left)
        if content is None:
            continue
        left -= len(content)
        if left < 0:
            raise UserError(
                _line(f"{board.folder} has more than {_MAX_BYTES} bytes in files: {_ALONE}")
            )
        name = os.fsencode(file.relative_to(board.folder))
        digest.update(b"%s\0%d\0%s" % (name, len(content), content))
    agreed, doubt = _remembered()
    code = Code(board.folder, scripts, digest.hexdigest(), doubt)
    return None if code.digest in agreed else code


def confirm(code: Code) -> None:
    """Asks whether the code may run and remembers a yes; UserError if it may not or nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(
            f"{code} is code that would run on this computer{_because(code)}, and there is no terminal to ask you: "
            "read it, then name that board.json to `tools/bazel run //tools/flash` with --allow-code"
        )
    question = (
        f"{code} is code, which runs on this computer as you{_because(code)}. "
        "Have you read it, and may it run? [y/N] "
    )
    print(printable(question), end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UserError("the board's code was not run, and nothing was written")
    remember(code)


def remember(code: Code) -> None:
    """Does not ask again for this code, until it changes. What cannot be written is not remembered."""
    with contextlib.suppress(OSError, _DoubtError):
        _state().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(_open(os.O_WRONLY | os.O_CREAT | os.O_APPEND), "w") as file:
            file.write(f"{code.digest}\n")


class _DoubtError(Exception):
    """Somebody else may have written the answers; the message says where."""


def _because(code: Code) -> str:
    return f" ({code.doubt})" if code.doubt else ""


_ALONE = "put the board's files into a folder of their own"


def _line(text: str) -> str:
    """Returns text with names of files from elsewhere as part of one line."""
    return printable(text).replace("\n", "?")


def _files(board: Board) -> Iterator[Path]:
    """Files that OpenOCD finds by name: it searches this folder for the files that its own scripts name too."""
    seen = 0
    for folder, _, names in os.walk(board.folder, followlinks=True):
        seen += 1 + len(names)
        if seen > _MAX_FILES:
            raise UserError(_line(f"{board.folder} has more than {_MAX_FILES} files: {_ALONE}"))
        # Nobody can read where a link to nothing leads.
        yield from (file for name in names if os.path.exists(file := Path(folder, name)))


def _is_script(file: Path) -> bool:
    return file.name.endswith(CODE_SUFFIXES)


def _content(file: Path, most: int) -> bytes | None:
    """More than `most` bytes of a file, or all that it has; None for an ELF, which is no Tcl."""
    try:
        if not file.is_file():
            # It may say something else each time, or nothing for ever.
            raise UserError(_line(f"{file} is a device, pipe or socket: {_ALONE}"))
        with file.open("rb") as opened:
            content = opened.read(len(_ELF_MAGIC))
            if content == _ELF_MAGIC and not _is_script(file):
                return None
            return content + opened.read(most + 1)
    except OSError as error:
        raise UserError(_line(f"{file} cannot be read: {error.strerror}")) from error


def _at_home(file: Path) -> bool:
    # Bazel names it to what `bazel run` starts.
    workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    homes = [_OWN, *([Path(workspace).resolve()] if workspace else [])]
    return any(file.resolve().is_relative_to(home) for home in homes)


def _remembered() -> tuple[set[str], str]:
    """What was agreed to, and why that is not believed."""
    try:
        with os.fdopen(_open(os.O_RDONLY), errors="replace") as file:
            return set(file.read().splitlines()), ""
    except OSError:
        return set(), ""
    except _DoubtError as doubt:
        return set(), str(doubt)


def _open(flags: int) -> int:
    """Opens the file with what was agreed; _DoubtError unless it and its folder are the user's alone."""
    path = _state()
    # What is opened is what was looked at, whoever renames folders meanwhile.
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _require_own(folder, path.parent)
        file = os.open(path.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        _require_own(file, path)
    except _DoubtError:
        os.close(file)
        raise
    return file


def _require_own(opened: int, path: Path) -> None:
    found = os.fstat(opened)
    if found.st_uid != os.getuid():
        raise _DoubtError(
            f"earlier answers are not believed, because {path} is another user's: XDG_STATE_HOME may name a folder "
            "of your own"
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _DoubtError(
            f"earlier answers are not believed, because others may write to {path}: chmod go-w changes that"
        )


def _state() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base, "ironcast", _REMEMBERED)
