"""Writes a page that shows what a model costs: one HTML file, which needs no network.

example:
  tools/bazel run //models:resnet8_int8_rv64.view -- --out resnet8.html
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tools import cli
from tools.report.view import compare, page, page_data, trace


@cli.program("view", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
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
    image = options.report.name.removesuffix(".json").removesuffix(".report")
    data = page_data.build(page_data.read(options.report))
    if options.against:
        other = page_data.build(page_data.read(cli.user_path(options.against)))
        data["against"] = compare.differences(other, data)
    if options.memory:
        page_data.add_frontiers(data, cli.user_path(options.memory))
    text = page.html(data, options.d3.read_text(encoding="utf-8"))
    page_data.write(cli.user_path(options.out or f"{image}.html"), text)
    if options.trace:
        page_data.write(cli.user_path(options.trace), json.dumps(trace.events(data)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
