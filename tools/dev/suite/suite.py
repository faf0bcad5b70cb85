"""What the tests cost and what they cover.

examples:
  tools/bazel test --config=cold --config=profile --profile=/tmp/profile.gz //...
  tools/bazel run //tools/dev/suite -- time /tmp/profile.gz
  tools/bazel run //tools/dev/suite -- pairs //...
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from rich.table import Table

from tools import cli, console
from tools.dev.suite import timing, variety

# Below the workspace's folder.
_SUMMARY = Path("tools/dev/suite/time.txt")
_PAIRS = Path("tools/dev/suite/pairs.txt")
_HEAD = "# Seconds of the tests with no result of an earlier build (CONTRIBUTING.md has the commands).\n"
# Seconds that a line of the committed summary stands for at least.
_LEAST = 3.0
_ROWS = 25


def _time(options: argparse.Namespace) -> int:
    summary = timing.summarize(timing.read(options.profile))
    file = cli.workspace() / _SUMMARY
    before = timing.parse(file.read_text()) if file.is_file() else timing.parse("")
    for part, names in summary.items():
        _show(part, names, before[part])
    if options.update:
        file.write_text(_HEAD + "\n".join(timing.lines(summary, _LEAST)) + "\n")
    return 0


def _show(part: str, names: dict[str, timing.Cost], before: dict[str, timing.Cost]) -> None:
    """Prints the dearest names of a part, and what changed most."""
    total = sum(cost.seconds for cost in names.values())
    change = dict(timing.changes(before, names))
    table = Table("by " + part, "number", "seconds", "%", "change")
    for name, cost in sorted(names.items(), key=lambda item: -item[1].seconds)[:_ROWS]:
        share = 100 * cost.seconds / total
        table.add_row(
            name, str(cost.count), f"{cost.seconds:.1f}", f"{share:.1f}", f"{change[name]:+.1f}"
        )
    table.add_row("all", str(sum(c.count for c in names.values())), f"{total:.1f}", "100", "")
    console.standard_output().print(table)


def _pairs(options: argparse.Namespace) -> int:
    targets = " + ".join(options.targets)
    tests = f'kind("^{variety.TEST} rule$", tests({targets}) except attr(tags, manual, {targets}))'
    # A test has runs, a run an image, an image models, a model what was imported, and that its importer.
    rules = f'kind("^({variety.KINDS}) rule$", deps({tests}, 6))'
    described = variety.read(_query(rules, "--output=streamed_jsonproto"))
    found = variety.pairs(variety.runs(_query(tests).splitlines(), described))
    file = cli.workspace() / _PAIRS
    before = file.read_text().splitlines() if file.is_file() else []
    lost = sorted(set(before) - set(found))
    new = sorted(set(found) - set(before))
    for sign, some in (("-", lost), ("+", new)):
        for pair in some:
            print(f"{sign} {pair}")
    print(f"{len(found)} pairs; {len(lost)} lost and {len(new)} new since {_PAIRS}")
    if options.update:
        file.write_text("\n".join(found) + "\n")
        return 0
    return 1 if lost else 0


def _query(query: str, *options: str) -> str:
    """Returns what Bazel answers; raises UserError if it does not."""
    command = ["tools/bazel", "query", "--noimplicit_deps", *options, query]
    done = subprocess.run(command, cwd=cli.workspace(), capture_output=True, text=True)
    if done.returncode != 0:
        raise cli.UserError(
            f"Bazel does not know these targets: {done.stderr.strip().splitlines()[-1]}"
        )
    return done.stdout


@cli.program("suite", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    commands = parser.add_subparsers(required=True)
    times = commands.add_parser("time", help="seconds by kind of action, package and test")
    times.add_argument(
        "profile", type=Path, help="what --profile=FILE wrote, with --config=profile"
    )
    times.add_argument("--update", action="store_true", help=f"write {_SUMMARY}")
    times.set_defaults(run=_time)
    pairs = commands.add_parser(
        "pairs",
        help="pairs of frontend, type, ISA, VLEN, emulator, harts and board that runs cover",
    )
    pairs.add_argument("targets", nargs="+", help="target patterns, e.g. //...")
    pairs.add_argument("--update", action="store_true", help=f"write {_PAIRS}")
    pairs.set_defaults(run=_pairs)
    options = parser.parse_args(args)
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
