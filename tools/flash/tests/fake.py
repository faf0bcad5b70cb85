"""Images and boards made by hand: what a test needs of them and no more."""

from __future__ import annotations

import contextlib
import io
import json
import struct
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.flash import main


def elf(
    path: Path,
    board: str,
    address: int,
    data: bytes,
    entry: int | None = None,
    more: Sequence[tuple[int, bytes]] = (),
) -> Path:
    """An ELF64 with a .note.ironcast that names `board`, a segment, and `more` behind it."""
    parts = [(address, data), *more]
    text = json.dumps({"board": board, "isa": "rv64gc", "models": ["m"]}).encode()
    padded = text + b"\0" * (-len(text) % 4)
    note = struct.pack("<III", 9, len(text), 1) + b"Ironcast\0".ljust(12, b"\0") + padded
    names = b"\0.note.ironcast\0.shstrtab\0"
    at = 64 + 56 * len(parts)
    start = at + sum(len(content) for _, content in parts)
    header = struct.pack("<4sBBB9x", b"\x7fELF", 2, 1, 1) + struct.pack(
        "<HHIQQQIHHHHHH",
        2,
        243,
        1,
        address if entry is None else entry,
        64,
        start + len(note) + len(names),
        0,
        64,
        56,
        len(parts),
        64,
        3,
        2,
    )
    headers = b""
    for place, content in parts:
        size = len(content)
        headers += struct.pack("<IIQQQQQQ", 1, 5, at, place, place, size, size, 4)
        at += size
    stored = b"".join(content for _, content in parts)
    sections = b"".join(
        struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, 0, 0, 4, 0)
        for name, kind, offset, size in [
            (0, 0, 0, 0),
            (1, 7, start, len(note)),
            (16, 3, start + len(note), len(names)),
        ]
    )
    path.write_bytes(header + headers + stored + note + names + sections)
    return path


def board(path: Path, methods: dict[str, Any], **changes: object) -> Path:
    """A board.json named `b` with 1 MB of memory at 0x1000."""
    description = {
        "name": "b",
        "memory": [{"name": "ram", "origin": "0x1000", "length": "0x100000"}],
        "flash": {"default": next(iter(methods), ""), "methods": methods},
    }
    path.write_text(json.dumps(description | changes))
    return path


class FolderTest(unittest.TestCase):
    """A folder with an image of 200 bytes for the board `b`."""

    # Where the tool prints.
    output: type[io.StringIO] = io.StringIO

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.elf = elf(self.folder / "m.elf", "b", 0x1000, bytes(range(200)))

    def flash(self, methods: dict[str, Any], *args: str, **changes: object) -> tuple[int, str]:
        """Runs the tool for a board with `methods`; returns its status and what it printed."""
        board(self.folder / "board.json", methods, **changes)
        return self.tool(*args)

    def tool(self, *args: str) -> tuple[int, str]:
        """Runs the tool for the board of before."""
        said = self.output()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = main.main([str(self.elf), "--board", str(self.folder / "board.json"), *args])
        return status, said.getvalue()

    def refused(
        self, sentence: str, methods: dict[str, Any], *args: str, **changes: object
    ) -> None:
        status, said = self.flash(methods, *args, **changes)
        self.assertEqual(status, 2, said)
        self.assertRegex(said, sentence)
        self.assertEqual(said.count("\n"), 1, said)
