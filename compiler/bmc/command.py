"""What bmc's programs have in common: the process that they run in, and what becomes of errors."""

from __future__ import annotations

import argparse
import logging
import os
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bmc import arithmetic, disk, errors, guard, names
from bmc.errors import BmcError

# Runs with the arguments of its subcommand; returns an exit status, or None for 0.
Command = Callable[[argparse.Namespace], int | None]

# Longer lines are hard to read, however wide the terminal is.
_WIDTH = 100


def run(main: Callable[[Sequence[str]], int]) -> int:
    """Calls `main` with the program's arguments in a process of its own; returns its exit status."""
    arithmetic.enter()
    # `bazel run` starts in a folder of its own, but paths are relative to the user's.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    try:
        outputs = None if _is_code(sys.argv) else _outputs(sys.argv)
        return guard.run(lambda: main(sys.argv[1:]), outputs=outputs)
    except BmcError as crash:
        return fail(crash)
    except OSError as error:
        if error.filename and not disk.is_full(error):
            raise
        # Of the module tempfile, which looks for a folder that it can write to.
        return fail(BmcError("file-failed", str(error.strerror), hint=disk.TEMPORARY))


def _is_code(argv: list[str]) -> bool:
    """Whether the model is a Python file. Only that may use the network, since a model file is data."""
    return any(re.search(r"\.py:\w+$", a) and before != "--cases" for before, a in _pairs(argv))


def _outputs(argv: list[str]) -> list[Path]:
    """What the options name that a command writes to."""
    return [Path(value) for option, value in _pairs(argv) if option in ("--keep", "--out")]


def _pairs(argv: list[str]) -> Iterator[tuple[str, str]]:
    """Each word of the command line with the word before it, which may be its option."""
    words = [word for argument in argv for word in argument.split("=", 1)]
    return zip(words, words[1:], strict=False)


def dispatch(arguments: argparse.Namespace, commands: Mapping[str, Command]) -> int:
    """Runs one of the commands; returns 0, 1 (the user's mistake), 70 (a mistake in bmc) or guard.NOBODY_READS."""
    logging.basicConfig(
        level=logging.DEBUG if arguments.verbose else logging.WARNING,
        format="%(name)s: %(message)s",
        stream=sys.stderr,
    )
    try:
        return commands[arguments.command](arguments) or 0
    except BmcError as error:
        return fail(_disk_full(arguments) if disk.is_full(error) else error)
    except (MemoryError, RecursionError) as error:
        return fail(_too_large(error))
    except Exception as error:
        if disk.is_full(error):
            return fail(_disk_full(arguments))
        if isinstance(error, BrokenPipeError) and guard.nobody_reads():
            return guard.NOBODY_READS
        if not isinstance(error, OSError) or not error.filename:
            return _internal()
        return fail(_file_failed(error, arguments))


def _disk_full(arguments: argparse.Namespace) -> BmcError:
    out = getattr(arguments, "out", None)
    if out is None:
        return disk.full("a temporary file cannot be written", disk.TEMPORARY)
    return disk.full(
        f"'{out}' or a temporary file cannot be written",
        "free some space, or name other places with --out and TMPDIR",
    )


def _file_failed(error: OSError, arguments: argparse.Namespace) -> BmcError:
    out = getattr(arguments, "out", None)
    path = Path(str(error.filename))
    hint = "name another with --out" if out and path.is_relative_to(out) else ""
    return BmcError("file-failed", f"'{error.filename}': {error.strerror}", hint=hint)


def _too_large(error: Exception) -> BmcError:
    deep = isinstance(error, RecursionError)
    what = "is nested more deeply than Python can follow" if deep else "does not fit into memory"
    return BmcError("too-large", f"the model {what}")


def _internal() -> int:
    traceback.print_exc()
    print("bmc: internal error: please report the lines above", file=sys.stderr)
    return errors.EXIT_INTERNAL_ERROR


def fail(error: BmcError) -> int:
    """Prints what the user has to fix, folded between words on a terminal; returns the exit status."""
    # Names of files and of their tensors are anybody's.
    lines = [names.printable(line) for line in f"bmc: {error}".splitlines()]
    if sys.stderr.isatty():
        width = min(shutil.get_terminal_size().columns, _WIDTH)
        # A name with hyphens stays one word, which can be copied.
        wrap = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        lines = [wrap.fill(line) for line in lines]
    print(*lines, sep="\n", file=sys.stderr)
    return errors.EXIT_USER_ERROR
