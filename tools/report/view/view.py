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

from tools import console
from tools.cli import UserError
from tools.report.view import compare, page, page_data, trace


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
        "--memory", type=Path, metavar="FILE", help="what X.memory wrote, also shown"
    )
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="also write the run as a trace for Perfetto"
    )
    options = parser.parse_args(args)
    # `bazel run` starts programs in another folder than the user's.
    here = Path(os.environ.get("BUILD_WORKING_DIRECTORY", ""))
    image = options.report.name.removesuffix(".json").removesuffix(".report")
    try:
        data = page_data.build(page_data.read(options.report))
        if options.against:
            other = page_data.build(page_data.read(here / options.against))
            data["against"] = compare.differences(other, data)
        if options.memory:
            page_data.add_frontiers(data, here / options.memory)
        text = page.html(data, options.d3.read_text(encoding="utf-8"))
        page_data.write(here / (options.out or f"{image}.html"), text)
        if options.trace:
            page_data.write(here / options.trace, json.dumps(trace.events(data)) + "\n")
    except (page_data.ViewError, UserError) as error:
        console.complain("view", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
