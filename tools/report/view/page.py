"""Puts a page together: one HTML file with its style, scripts, D3 and data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
# Of the page about one image.
SCRIPTS = (
    "draw.js",
    "arena.js",
    "harts.js",
    "layers.js",
    "memory.js",
    "roofline.js",
    "commands.js",
    "tables.js",
    "main.js",
)


def html(data: dict[str, Any], d3: str, scripts: Sequence[str] = SCRIPTS) -> str:
    """Returns the page.

    Args:
      data: what the scripts draw, such as that of page_data.py; names in it may be anything.
      d3: the text of d3.min.js.
      scripts: files of this folder, in the order in which a browser runs them.
    """
    # A string of a model must not end the script that it is in.
    text = json.dumps(data, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "STYLE": (_HERE / "page.css").read_text(),
        "D3": d3,
        "DATA": text,
        "SCRIPTS": "\n".join((_HERE / name).read_text() for name in scripts),
    }
    pieces = (_HERE / "page.html").read_text().split("@@")
    return "".join(parts[piece] if n % 2 else piece for n, piece in enumerate(pieces))
