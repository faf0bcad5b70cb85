"""What every campaign has: a seed, a number of trials, progress, a summary and a folder of finds.

A trial is a pure function of the seed and its number, so `--first 812 --count 1` repeats trial 812.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tools import cli

# Lines of progress where the output is not a terminal.
_LINES = 20


@dataclass(frozen=True)
class Budget:
    """Which trials to run: `count` of them, from number `first`, all derived from `seed`."""

    seed: int
    first: int
    count: int

    def trials(self) -> range:
        return range(self.first, self.first + self.count)

    def random(self, trial: int) -> random.Random:
        """The source of chance of one trial, independent of all others."""
        return random.Random(f"{self.seed}/{trial}")


@dataclass(frozen=True)
class Result:
    """What one trial ended with.

    Attributes:
      outcome: a word or two, counted in the summary.
      find: text that reproduces a fault, or None where there is none.
    """

    trial: int
    outcome: str
    find: str | None = None


def add_arguments(parser: cli.Parser, *, count: int) -> None:
    """Adds what every campaign takes; `count` is the number of trials at full length."""
    parser.add_argument("--seed", type=int, default=1, help="where all chance comes from (1)")
    parser.add_argument("--first", type=_natural, default=0, help="number of the first trial (0)")
    parser.add_argument("--count", type=_natural, default=count, help=f"trials to run ({count})")
    parser.add_argument(
        "--finds",
        type=cli.user_path,
        default="finds",
        help="folder that gets a file for every find (finds)",
    )


def budget(options: argparse.Namespace) -> Budget:
    return Budget(seed=options.seed, first=options.first, count=options.count)


def run(name: str, results: Iterable[Result], *, count: int, finds: Path, console: Console) -> int:
    """Counts the outcomes, writes the finds and returns the exit status: 1 if there is any find."""
    outcomes: Counter[str] = Counter()
    found: list[Path] = []
    for result in _shown(name, results, count, console):
        outcomes[result.outcome] += 1
        if result.find is not None:
            finds.mkdir(parents=True, exist_ok=True)
            path = finds / f"{name}_{result.trial}.txt"
            path.write_text(result.find, encoding="utf-8")
            found.append(path)
            console.print(f"trial {result.trial}: {result.outcome}: {path}", highlight=False)
    console.print(f"{name}: {sum(outcomes.values())} trials, {len(found)} finds", highlight=False)
    for outcome, times in outcomes.most_common():
        console.print(f"{times:8} {outcome}", highlight=False)
    return 1 if found else 0


def _shown(name: str, results: Iterable[Result], count: int, console: Console) -> Iterator[Result]:
    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    every = max(1, count // _LINES)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=count)
        for done, result in enumerate(results, 1):
            yield result
            bar.update(task, completed=done)
            if not console.is_terminal and done % every == 0:
                console.print(f"{name}: {done} of {count}", highlight=False)


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of trials")
    return int(text)
