#!/usr/bin/env python3
"""Explains a status word of the runtime: which check failed, in which file and line.

example:
  tools/run/decode_status/decode.py 0304700b
"""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]
if not __package__:
    # A checkout runs this without Bazel.
    sys.path.append(str(_ROOT))

from tools import cli  # noqa: E402

STATUS_H = "runtime_bm/base/status.h"

_ROW = re.compile(r'\b(CODE|FILE)\((\w+), (\d+),\s*"([^"]*)"\)')
_WORD = re.compile(r"(?:status=|0x)?([0-9a-fA-F]{8})\b")


@dataclasses.dataclass(frozen=True, slots=True)
class Tables:
    """The tables of status.h: code -> (name, meaning), file number -> path."""

    codes: dict[int, tuple[str, str]]
    files: dict[int, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Status:
    """A decoded word; `file` is empty when the number is not in status.h."""

    code: str
    meaning: str
    file: str
    line: int


def read_tables(status_h: str) -> Tables:
    """Returns the tables in the text of status.h."""
    codes: dict[int, tuple[str, str]] = {}
    files: dict[int, str] = {}
    for kind, name, number, text in _ROW.findall(status_h):
        if kind == "CODE":
            codes[int(number)] = (name, text)
        else:
            files[int(number)] = text
    return Tables(codes, files)


def find_word(text: str) -> int:
    """Returns the status word in `text`: eight hex digits, alone or in a console record.

    Raises:
      UserError: `text` has none.
    """
    match = _WORD.search(text)
    if not match:
        raise cli.UserError(
            f"{text!r} has no status word: give eight hex digits or a BM1 ERROR record"
        )
    return int(match[1], 16)


def decode(word: int, tables: Tables) -> Status:
    """Splits a word: bits 31..24 file, 23..12 line, 11..0 code."""
    number, line, code = word >> 24, word >> 12 & 0xFFF, word & 0xFFF
    name, meaning = tables.codes.get(code, (f"code {code}", "not in status.h"))
    return Status(name, meaning, tables.files.get(number, ""), line)


def describe(word: int, root: Path) -> str:
    """Explains `word` for the user; looks up sources under `root`.

    Raises:
      UserError: status.h does not exist.
    """
    header = root / STATUS_H
    if not header.is_file():
        raise cli.UserError(
            f"{header} is missing: run this from a checkout of the runtime's sources"
        )
    status = decode(word, read_tables(header.read_text()))
    if word == 0:
        return "0x00000000: success"
    where = f"{status.file}:{status.line}" if status.file else "a file that status.h does not list"
    text = f"0x{word:08x}: {status.code} ({status.meaning}) at {where}"
    source = root / status.file
    if status.file and source.is_file():
        lines = source.read_text().splitlines()
        if 0 < status.line <= len(lines):
            text += f"\n    {_statement(lines[status.line - 1 :])}"
    return text


def _statement(lines: list[str]) -> str:
    """Returns the C statement that begins in the first of `lines`, as one line."""
    end = next((i for i, line in enumerate(lines) if line.rstrip().endswith(";")), 0)
    return " ".join(line.strip() for line in lines[: end + 1])


@cli.program("decode", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("status", nargs="+", help="status word, or a BM1 ERROR record that has one")
    options = parser.parse_args(args)
    print(describe(find_word(" ".join(options.status)), _ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
