"""Changes one line of a source file, as mutation tools do, and expects a test to fail.

example:
  tools/bazel run //tools/campaigns/mutants -- --quick --log /tmp/mutants.log

A trial is a line of the compiler, the runtime or a tool, taken by chance, with one change of the package
universalmutator that is no matter of comments, types, imports or messages. The tests beside the file
judge first, without a build, and then the tests of its package. What is not committed is not judged. A
find is a mutant that no test noticed and that equivalent.toml does not have.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import campaign
from campaign import Budget, Result
from log import Log
from rich.console import Console

from tools import cli
from tools.campaigns.faults.trials import Copy
from tools.campaigns.mutants import equivalent, python_tests
from tools.campaigns.mutants.c_tests import Builder
from tools.campaigns.mutants.judge import Judge
from tools.campaigns.mutants.mutant import Population
from tools.campaigns.mutants.python_tests import Tests

# At full length.
_COUNT = 1000


@cli.program("mutants", __doc__, status=2)
def main(parser: cli.Parser, args: list[str]) -> int:
    campaign.add_arguments(parser, count=_COUNT)
    parser.add_argument(
        "--log", type=cli.user_path, help="note what is done in this file, and go on where it ends"
    )
    parser.add_argument("--summary", action="store_true", help="run nothing more than --log has")
    parser.add_argument(
        "--quick", action="store_true", help="only the tests beside the file, without a build"
    )
    parser.add_argument(
        "--below", metavar="FOLDER", default="", help="change only what is in this folder"
    )
    options = parser.parse_args(args)
    if options.summary and not options.log:
        parser.error("--summary needs --log FILE")
    budget = campaign.budget(options)
    log: Log | None = None
    before: list[Result] = []
    if options.log:
        log = Log(options.log.absolute(), options.seed)
        try:
            before = log.read()
        except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
            parser.error(f"{log.path} is no log of this campaign ({error}): give another file")
    done = {result.trial for result in before}
    left = [] if options.summary else [trial for trial in budget.trials() if trial not in done]
    return campaign.run(
        "mutants",
        itertools.chain(before, _run(cli.workspace(), budget, left, log, options)),
        count=len(before) + len(left),
        finds=options.finds,
        console=Console(),
    )


def _run(
    checkout: Path,
    budget: Budget,
    left: list[int],
    log: Log | None,
    options: argparse.Namespace,
) -> Iterator[Result]:
    if not left:
        return
    python_tests.load()
    with tempfile.TemporaryDirectory() as work:
        copy = Copy.make(checkout, Path(work) / "copy")
        objects = Path(work) / "objects"
        objects.mkdir()
        clang, ar = (Path(os.environ[name]).absolute() for name in ("CLANG", "AR"))
        builder = Builder(clang, ar, copy.folder, objects)
        judge = Judge(copy, Tests(copy.folder), builder, options.quick, equivalent.load())
        population = Population.of(copy.folder).below(options.below)
        if not population.lines:
            raise cli.UserError(f"nothing in {options.below} is changed")
        try:
            for trial in left:
                result = judge(trial, population.sample(budget.random(trial), builder.is_c))
                if log:
                    log.add([result])
                yield result
        finally:
            if not options.quick:
                copy.remove()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
