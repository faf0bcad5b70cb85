"""Prints the table of models in the README, from the reports of their images.

example:
  tools/bazel run //models:table -- --update
"""

from __future__ import annotations

import argparse
import re
import sys
from itertools import zip_longest
from pathlib import Path

from tools import cli
from tools.report import baseline
from tools.report.files import load
from tools.report.report import Image, Inference

BEGIN = "<!-- begin: tools/bazel run //models:table -- --update -->"
END = "<!-- end -->"
# The difference between the target and the framework.
_ERROR = re.compile(r"error \S+")

_HEADER = (
    "| Model | Frontend | Type | MACs | Parameters | Flash, bytes | Arena, bytes | Bound, bytes "
    "| Instructions | per MAC | Against the framework |",
    "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
)


def row(report: Image) -> str:
    """Returns the line of an image with one model, named `<model>_<type>`, and a profile run."""
    ((model, measured),) = report.inferences
    name, _, element = model.name.rpartition("_")
    numbers = baseline.measured(report)
    macs = model.macs[model.entries[0].name]
    cells = [
        f"`{name}`",
        model.frontend,
        element,
        f"{macs:,}",
        f"{model.parameters:,}",
        f"{numbers['flash_bytes']:,}",
        f"{numbers['arena_bytes']:,}",
        f"{model.arena.liveness_bound_bytes:,}",
        f"{measured.instructions:,}",
        f"{measured.instructions / macs:.2f}" if macs else "-",
        _agreement(measured),
    ]
    return f"| {' | '.join(cells)} |"


def _agreement(measured: Inference) -> str:
    difference = "bit-exact" if not measured.differing else f"error {measured.max_abs:.1e}"
    if measured.accuracy is None:
        return difference
    accuracy = measured.accuracy
    return f"{accuracy.correct} of {accuracy.total} right on both; {difference}"


def table(rows: list[str]) -> str:
    """Returns the table as Markdown."""
    return "\n".join([*_HEADER, *rows])


def update(document: str, rows: list[str], order: list[str]) -> str:
    """Returns `document` with `rows` in the table between BEGIN and END.

    A row replaces the one with the same model and type. Models come in the given `order`; rows of other
    models are removed.

    Raises:
      UserError: there is no place for a table.
    """
    before, begin, rest = document.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        raise cli.UserError(f"the document has no line '{BEGIN}' with '{END}' after it")
    kept = {_key(line): line for line in old.splitlines() if line.startswith("| `")}
    merged = sorted((kept | {_key(line): line for line in rows}).items())
    lines = [line for model in order for (name, _), line in merged if name == f"`{model}`"]
    return f"{before}{begin}\n{table(lines)}\n{end}{after}"


def check(document: str, rows: list[str], order: list[str]) -> None:
    """Raises UserError unless `document` has these rows, and its models are in this order.

    Numbers may differ by a hundredth, and errors by their own size: weights that are trained during an
    import depend on the framework's build.
    """
    shown = document.splitlines()
    wanted = update(document, rows, order).splitlines()
    stale = [new for old, new in zip(shown, wanted, strict=False) if not _alike(old, new)]
    if stale or len(shown) != len(wanted):
        raise cli.UserError(
            "these rows do not match the measurements; `tools/bazel run //models:table -- --update`"
            " writes them (large_table for large models):\n" + "\n".join(stale)
        )


def _alike(old: str, new: str) -> bool:
    pairs = list(zip_longest(old.split(" | "), new.split(" | "), fillvalue=""))
    return all(a == b or _close(a, b) for a, b in pairs)


def _close(old: str, new: str) -> bool:
    try:
        a, b = (float(cell.replace(",", "")) for cell in (old, new))
    except ValueError:
        return _ERROR.sub("", old) == _ERROR.sub("", new)
    return abs(a - b) <= max(abs(a), abs(b)) / 100 or (max(a, b) < 10 and abs(a - b) < 0.02)


def _key(line: str) -> tuple[str, str]:
    model, _, element, *_ = line.removeprefix("| ").split(" | ")
    return model, element


@cli.program("table", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("reports", type=Path, nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--order", nargs="+", required=True, help=argparse.SUPPRESS)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--update", action="store_true", help="write the rows into the README")
    what.add_argument("--check", type=Path, metavar="README", help="fail unless it has these rows")
    options = parser.parse_args(args)
    rows = [row(load(path, Image)) for path in options.reports]
    print(table(rows))
    if options.update:
        readme = cli.workspace() / "README.md"
        readme.write_text(update(readme.read_text(), rows, options.order))
    elif options.check:
        check(options.check.read_text(), rows, options.order)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
