"""Runs the cases of a framework's own test suite, in emulators and on this machine.

examples:
  tools/bazel run //tools/campaigns/suites -- --suite onnx --log onnx.log    all; goes on where the log ends
  tools/bazel run //tools/campaigns/suites -- --suite onnx --op Relu         cases of one op, with their sentences
  tools/bazel run //tools/campaigns/suites -- --suite onnx --log onnx.log --list
                                                                             writes the suite's list and the page
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import random
import sys
from collections import Counter
from collections.abc import Iterable

import harness
import lists
import page
from case import Outcome
from lists import Row

from bmc import arithmetic
from tools import cli


@cli.program("suites", __doc__)
def main(parser: cli.Parser, argv: list[str]) -> int:
    parser.add_argument("--suite", choices=sorted(page.TITLES), required=True)
    parser.add_argument("--op", action="append", default=[], help="only cases of these ops")
    parser.add_argument("--case", action="append", default=[], help="only these cases")
    parser.add_argument("--sample", type=int, help="only this many cases, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument(
        "--log", type=cli.user_path, help="note verdicts here, and go on where it ends"
    )
    parser.add_argument("--list", action="store_true", help="write the list of all that --log has")
    options = parser.parse_args(argv)
    arithmetic.enter()
    try:
        before = lists.read(options.log) if options.log else {}
    except ValueError as error:
        raise cli.UserError(
            f"{options.log} is no log of this program ({error}): give another file"
        ) from error
    if options.list:
        _write(options.suite, before.values())
        return 0
    module = importlib.import_module(f"{options.suite}_suite")
    chosen = [
        case
        for case in module.cases()
        if (not options.op or case.op in options.op)
        and (not options.case or case.name in options.case)
    ]
    if not chosen:
        raise cli.UserError(f"the suite {options.suite} has no such case")
    if options.sample:
        chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
    left = [case for case in chosen if case.name not in before]
    counts: Counter[str] = Counter()
    for rows in harness.run(left, module.enter, options.jobs):
        if options.log:
            lists.add(options.log, rows)
        for row in rows:
            counts[row.verdict.outcome.value] += 1
            if not options.log and row.verdict.outcome is not Outcome.RIGHT:
                print(
                    f"{row.name} ({row.op}, {row.dtype}): {row.verdict.outcome.value}: {row.verdict.sentence}"
                )
        shown = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
        print(f"{sum(counts.values())} of {len(left)}: {shown}", flush=True)
    return 0


def _write(suite: str, rows: Iterable[Row]) -> None:
    """Writes the list of a suite, and the page from all lists."""
    folder = cli.workspace()
    lists.write(folder / harness.list_of(suite), rows)
    found = {
        name: list(lists.read(folder / harness.list_of(name)).values()) for name in page.TITLES
    }
    versions = {
        name: ", ".join(
            f"{each} {importlib.metadata.version(each)}" for each in page.PACKAGES[name]
        )
        for name in page.TITLES
    }
    text = page.page({name: rows for name, rows in found.items() if rows}, versions)
    (folder / "docs/coverage.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
