"""Holds QEMU, Spike and this machine to PyTorch's answers on random small models.

example:
  tools/bazel run //tools/campaigns/models -- --count 100
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import batch
import campaign
import graph
import reduce
import workers
from campaign import Budget, Result
from generate import generate
from graph import Graph
from image import Verdict
from log import Log
from rich.console import Console

from bmc import arithmetic
from tools import cli
from tools.run.kit import Kit

_KIT = Path("tools/campaigns/models/spike.json")
# At full length.
_COUNT = 10_000
_BATCH = 40
# Every fourth batch is quantized.
_INT8_EVERY = 4
# Every third batch has an image without the rewrites that only make kernels faster.
_PLAIN_EVERY = 3
_CHECKS = 60
_DEADLINE_SECONDS = 7200.0


@dataclass(frozen=True)
class Source:
    """Where models come from.

    Attributes:
      batches: numbers of the models that share an image.
      model: returns the model of a number.
    """

    batches: list[list[int]]
    model: Callable[[int], Graph]

    def without(self, results: list[Result]) -> Source:
        """Returns what is left to do after these results."""
        done = {result.trial for result in results}
        left = [[trial for trial in trials if trial not in done] for trials in self.batches]
        return Source([trials for trials in left if trials], self.model)


@cli.program("models", __doc__)
def main(parser: cli.Parser, argv: list[str]) -> int:
    campaign.add_arguments(parser, count=_COUNT)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--repeat", type=cli.user_path, help="run the models of this file instead")
    only.add_argument(
        "--log", type=cli.user_path, help="note what is done in this file, and go on where it ends"
    )
    parser.add_argument("--summary", action="store_true", help="run nothing more than --log has")
    options = parser.parse_args(argv)
    if options.summary and not options.log:
        parser.error("--summary needs --log FILE")
    arithmetic.enter()
    log: Log | None = None
    before: list[Result] = []
    source = of_file(options.repeat) if options.repeat else made(campaign.budget(options))
    if options.log:
        log = Log(options.log, options.seed)
        try:
            before = log.read()
        except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
            parser.error(f"{log.path} is no log of this campaign ({error}): give another file")
        source = Source([], source.model) if options.summary else source.without(before)
    batch.load()
    with tempfile.TemporaryDirectory() as root:
        done = run(source, Kit.load(_KIT, Path(root)), log, jobs=options.jobs)
        return campaign.run(
            "models",
            itertools.chain(before, done),
            count=len(before) + sum(map(len, source.batches)),
            finds=options.finds,
            console=Console(),
        )


def made(budget: Budget) -> Source:
    """Returns the budget's models, in batches of one kind."""
    batches: dict[int, list[int]] = {}
    for trial in budget.trials():
        batches.setdefault(trial // _BATCH, []).append(trial)

    def model(trial: int) -> Graph:
        int8 = trial // _BATCH % _INT8_EVERY == _INT8_EVERY - 1
        return generate(budget.random(trial), int8=int8)

    return Source(list(batches.values()), model)


def of_file(path: Path) -> Source:
    """Returns the models of a find, in one batch."""
    graphs = graph.from_text(path.read_text(encoding="utf-8"))
    return Source([list(range(len(graphs)))], graphs.__getitem__)


def run(source: Source, kit: Kit, log: Log | None, *, jobs: int) -> Iterator[Result]:
    """Yields the result of every model, those of a batch once they are in the log."""
    for results in _batches(source, kit, jobs):
        if log:
            log.add(results)
        yield from results


def _batches(source: Source, kit: Kit, jobs: int) -> Iterator[list[Result]]:
    def work(trials: list[int]) -> list[Result]:
        return judge(trials, tuple(map(source.model, trials)), kit)

    alone: list[list[int]] = []
    for done in workers.run(source.batches, work, jobs=jobs, deadline_seconds=_DEADLINE_SECONDS):
        if done.answer is None:
            alone += [[trial] for trial in done.task]
        else:
            yield done.answer
    for done in workers.run(alone, work, jobs=jobs, deadline_seconds=_DEADLINE_SECONDS):
        if done.answer is None:
            (trial,) = done.task
            text = _text(done.died, (source.model(trial),))
            yield [Result(trial, "the compiler's process died", text)]
        else:
            yield done.answer


def judge(trials: list[int], graphs: tuple[Graph, ...], kit: Kit) -> list[Result]:
    """Judges models in one image, and makes those that fail smaller."""
    plain = trials[0] // _BATCH % _PLAIN_EVERY == 0

    def check(chosen: tuple[Graph, ...]) -> list[Verdict]:
        return batch.check(chosen, kit, plain=plain)

    verdicts = check(graphs)
    return [
        _result(trial, model, verdict, graphs, check)
        for trial, model, verdict in zip(trials, graphs, verdicts, strict=True)
    ]


def _result(
    trial: int,
    model: Graph,
    verdict: Verdict,
    neighbors: tuple[Graph, ...],
    check: Callable[[tuple[Graph, ...]], list[Verdict]],
) -> Result:
    """Adds the smallest models that fail in the same way, if any do."""
    if not verdict.fault:
        return Result(trial, verdict.outcome)

    def fails(graphs: tuple[Graph, ...]) -> bool:
        return any(found.outcome == verdict.outcome for found in check(graphs))

    graphs = (model,) if fails((model,)) else neighbors
    smallest = reduce.reduce(graphs, fails, checks=_CHECKS)
    return Result(trial, verdict.outcome, _text(f"{verdict.outcome}: {verdict.sentence}", smallest))


def _text(title: str, graphs: tuple[Graph, ...]) -> str:
    return f"# {title}\n{graph.to_text(graphs)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
