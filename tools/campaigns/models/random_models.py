"""Holds QEMU, Spike and this machine to PyTorch's answers on random small models.

tools/bazel run //tools/campaigns/models -- --count 100
"""

from __future__ import annotations

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
from batch import Verdict
from campaign import Budget, Result
from generate import generate
from graph import Graph
from kit import Kit
from rich.console import Console

from bmc import arithmetic

_KIT = Path("tools/campaigns/models/spike.json")
# At full length.
_COUNT = 10_000
_BATCH = 10
# Every fourth batch is quantized.
_INT8_EVERY = 4
_CHECKS = 60
_DEADLINE_SECONDS = 1800.0


@dataclass(frozen=True)
class Source:
    """Where models come from.

    Attributes:
      batches: numbers of the models that share an image.
      model: returns the model of a number.
    """

    batches: list[list[int]]
    model: Callable[[int], Graph]


def main(argv: list[str]) -> int:
    parser = campaign.parser("models", __doc__, count=_COUNT)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--repeat", type=Path, help="run the models of this file instead")
    options = parser.parse_args(argv)
    arithmetic.enter()
    batch.load()
    source = of_file(options.repeat) if options.repeat else made(campaign.budget(options))
    with tempfile.TemporaryDirectory() as root:
        return campaign.run(
            "models",
            run(source, Kit.load(_KIT, Path(root)), jobs=options.jobs),
            count=sum(map(len, source.batches)),
            finds=campaign.finds_folder(options),
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
    text = (Path(os.environ.get("BUILD_WORKING_DIRECTORY", ".")) / path).read_text(encoding="utf-8")
    graphs = graph.from_text(text)
    return Source([list(range(len(graphs)))], graphs.__getitem__)


def run(source: Source, kit: Kit, *, jobs: int) -> Iterator[Result]:
    """Yields the result of every model."""

    def work(trials: list[int]) -> list[Result]:
        return judge(trials, tuple(map(source.model, trials)), kit)

    alone: list[list[int]] = []
    for done in workers.run(source.batches, work, jobs=jobs, deadline_seconds=_DEADLINE_SECONDS):
        if done.answer is None:
            alone += [[trial] for trial in done.task]
        yield from done.answer or ()
    for done in workers.run(alone, work, jobs=jobs, deadline_seconds=_DEADLINE_SECONDS):
        if done.answer is None:
            (trial,) = done.task
            text = _text(done.died, (source.model(trial),))
            yield Result(trial, "the compiler's process died", text)
        yield from done.answer or ()


def judge(trials: list[int], graphs: tuple[Graph, ...], kit: Kit) -> list[Result]:
    """Judges models in one image, and makes those that fail smaller."""
    verdicts = batch.check(graphs, kit)
    return [
        _result(trial, model, verdict, graphs, kit)
        for trial, model, verdict in zip(trials, graphs, verdicts, strict=True)
    ]


def _result(
    trial: int, model: Graph, verdict: Verdict, neighbors: tuple[Graph, ...], kit: Kit
) -> Result:
    """Adds the smallest models that fail in the same way, if any do."""
    if not verdict.fault:
        return Result(trial, verdict.outcome)

    def fails(graphs: tuple[Graph, ...]) -> bool:
        return any(found.outcome == verdict.outcome for found in batch.check(graphs, kit))

    graphs = (model,) if fails((model,)) else neighbors
    smallest = reduce.reduce(graphs, fails, checks=_CHECKS)
    return Result(trial, verdict.outcome, _text(f"{verdict.outcome}: {verdict.sentence}", smallest))


def _text(title: str, graphs: tuple[Graph, ...]) -> str:
    return f"# {title}\n{graph.to_text(graphs)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
