"""What every program has: a parser, one error for the user, and the folder in which the user stands.

This needs nothing but the standard library: a program that a build starts for each image starts fast.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from tools.printable import printable

# Longer lines are hard to read, however wide the terminal is.
WIDTH = 100

Parser = argparse.ArgumentParser
Main = Callable[[list[str]], int]


class UserError(Exception):
    """One sentence for the user: what, where, what to do."""


def program(
    name: str, text: str | None, *, status: int = 1
) -> Callable[[Callable[[Parser, list[str]], int]], Main]:
    """Makes a program of a function that declares its arguments, parses them and returns the exit status.

    A UserError ends the program with its sentence instead of a traceback.

    Args:
      name: what usage and sentences begin with.
      text: the module's docstring, which `--help` shows as it is.
      status: the exit status after a UserError.
    """

    def made(main: Callable[[Parser, list[str]], int]) -> Main:
        @functools.wraps(main)
        def run(args: list[str]) -> int:
            raw = argparse.RawDescriptionHelpFormatter
            try:
                return main(Parser(prog=name, description=text, formatter_class=raw), args)
            except UserError as error:
                complain(name, error)
                return status

        return run

    return made


def complain(name: str, sentence: object) -> None:
    """Prints what the user has to fix, folded between words on a terminal."""
    text = printable(f"{name}: {sentence}")
    if sys.stderr.isatty():
        width = WIDTH
        with contextlib.suppress(OSError):
            width = min(os.get_terminal_size(sys.stderr.fileno()).columns or WIDTH, WIDTH)
        text = "\n".join(textwrap.fill(line, width) for line in text.split("\n"))
    print(text, file=sys.stderr)


def user_path(path: str | Path) -> Path:
    """Returns a path below the folder in which the user stands; `bazel run` starts programs elsewhere."""
    return Path(os.environ.get("BUILD_WORKING_DIRECTORY", ""), path)


def workspace() -> Path:
    """Returns the workspace of a program that `bazel run` starts, else the current folder."""
    return Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", ""))
