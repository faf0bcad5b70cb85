"""Writes a page that compares models: flash, RAM and instructions of each, in one HTML file.

example:
  tools/bazel run //models:overview -- --out overview.html
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tools import cli
from tools.report import baseline
from tools.report.report import Image
from tools.report.view import page, page_data

SCRIPTS = ("draw.js", "overview.js")
_TYPES = ("f16", "f32", "int8")


def row(report: Image) -> dict[str, Any]:
    """Returns what the page shows of an image with one model and a run; bytes, and counts of one inference.

    The model's name ends with its type. Flash is as in the README's table, without what the self-check adds.
    """
    numbers = baseline.measured(report)
    (model,) = page_data.build(report)["models"]
    name, _, element = model["name"].rpartition("_")
    if element not in _TYPES:
        name, element = model["name"], "f32"
    counted, macs = model["counted"], model["macs"]
    return {
        "name": name,
        "type": element,
        "flash": numbers["flash_bytes"],
        "ram": report.ram_bytes.total,
        "arena": model["arena"]["bytes"],
        "instructions": model["instructions"],
        "macs": macs,
        "per_mac": model["instructions"] / macs if macs else None,
        "percent": 100 * model["bound"] / counted if model["roofs"] and counted else None,
    }


def html(reports: list[Image], d3: str) -> str:
    """Returns the page, given reports of images with a run."""
    boards = sorted({f"{report.models[0].isa} on {report.board}" for report in reports})
    data = {
        "title": f"{len(reports)} models ({', '.join(boards)})",
        "models": [row(report) for report in reports],
    }
    return page.html(data, d3, SCRIPTS)


@cli.program("overview", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("reports", type=Path, nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--d3", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument(
        "--out", type=Path, default=Path("overview.html"), help="the page (%(default)s)"
    )
    options = parser.parse_args(args)
    reports = [page_data.read(path) for path in options.reports]
    text = html(reports, options.d3.read_text(encoding="utf-8"))
    page_data.write(cli.user_path(options.out), text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
