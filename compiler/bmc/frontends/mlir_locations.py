"""Locations in MLIR text, which name files. A tool that reports an error there would read the file for the line."""

from __future__ import annotations

import re

_FILE = re.compile(rb'"((?:[^"\\\n]|\\.)*)"(?=:\d+:\d+)')


def without_folders(text: bytes) -> bytes:
    """Returns the text with the last part of each file's name alone, which is no file where the tools run."""
    return _FILE.sub(lambda found: b'"' + _name(found[1]) + b'"', text)


def _name(path: bytes) -> bytes:
    # An escape may stand for a slash.
    return b"source" if b"\\" in path else path.rpartition(b"/")[2] or b"source"
