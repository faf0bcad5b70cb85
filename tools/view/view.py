"""Writes a page that shows what a model costs: one HTML file, which needs no network.

example:
  tools/bazel run //models:resnet8_int8_rv64.view -- --out resnet8.html
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from tools import console
from tools.view import compare, page, page_data, trace


def _read(path: Path) -> Any:
    """Returns the page's data of a report; raises ViewError."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise page_data.ViewError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise page_data.ViewError(
            f"{path} is not JSON: name a file that `X.report` makes"
        ) from None
    page_data.check(report, str(path))
    return page_data.build(report)


def _write(path: Path, text: str) -> None:
    """Writes a file and prints its path; raises ViewError."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise page_data.ViewError(f"{path} cannot be written: {error.strerror}") from None
    print(path)


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="view", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    # The rule bm_view gives these two.
    parser.add_argument("--report", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--d3", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="the page (default: IMAGE.html in this folder)")
    parser.add_argument(
        "--against", type=Path, metavar="REPORT", help="another X.report.json to compare with"
    )
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="also write the run as a trace for Perfetto"
    )
    options = parser.parse_args(args)
    # `bazel run` starts programs in another folder than the user's.
    here = Path(os.environ.get("BUILD_WORKING_DIRECTORY", ""))
    image = options.report.name.removesuffix(".json").removesuffix(".report")
    try:
        data = _read(options.report)
        if options.against:
            data["against"] = compare.differences(_read(here / options.against), data)
        text = page.html(data, options.d3.read_text(encoding="utf-8"))
        _write(here / (options.out or f"{image}.html"), text)
        if options.trace:
            _write(here / options.trace, json.dumps(trace.events(data)) + "\n")
    except page_data.ViewError as error:
        console.complain("view", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
