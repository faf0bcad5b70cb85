"""Damages by machine what Ironcast reads, on the target and on the host: hostile bytes.

example:
  tools/bazel run //tools/campaigns/bytes -- --count 100

A trial is many inputs: a million of a fuzz target, thousands of a property, hundreds of model files.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import os
import random
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import campaign
import fuzzers
import model_files
import properties
from campaign import Result
from rich.console import Console

from tools import cli

_FUZZ_INPUTS = 1_000_000
_PROPERTY_INPUTS = 20_000
# Of each kind: what is read in a process that imported the framework once, and by the whole command.
_MODEL_FILES = {
    ".gguf": 500,
    ".keras": 500,
    ".mlir": 1000,
    ".onnx": 1000,
    ".pt2": 500,
    ".tflite": 1000,
    "": 500,
}
_COMMANDS = 8
# How often a cycle of ten trials runs a target: those that take longer for an input run less often.
_SHARES = {
    "device_tree_fuzz": 3,
    "driver_fuzz": 2,
    "elf_loader_fuzz": 2,
    "plan_fuzz": 2,
    "golden_fuzz": 1,
}
_FUZZ_TRIALS = 100
FULL_LENGTH = _FUZZ_TRIALS + len(properties.NAMES) + 2 * len(_MODEL_FILES)


@dataclass(frozen=True)
class Attacked:
    """Where everything is: fuzz targets, a model's kernels, model files and bmc."""

    fuzzers: dict[str, Path]
    kernels: Path
    models: tuple[Path, ...]
    bmc: Path


@dataclass(frozen=True, slots=True)
class Trial:
    """`kind` is fuzz, property, read or command; `target` is what it attacks, with so many inputs."""

    kind: str
    target: str
    inputs: int


@dataclass(frozen=True, slots=True)
class Done:
    """What a trial did: outcomes of its inputs, coverage (edges, features) of a fuzz target, and a find."""

    outcomes: Counter[str]
    coverage: tuple[int, int] = (0, 0)
    find: str = ""


def schedule(attacked: Attacked) -> list[Trial]:
    """Every trial of the full length, 10^8 inputs, the kinds in turn."""
    cycle = [name for name, share in _SHARES.items() for _ in range(share)]
    fuzzing = itertools.islice(itertools.cycle(cycle), _FUZZ_TRIALS)
    groups = [
        [Trial("property", name, _PROPERTY_INPUTS) for name in properties.NAMES],
        [Trial("read", str(model), _MODEL_FILES[model.suffix]) for model in attacked.models],
        [Trial("command", str(model), _COMMANDS) for model in attacked.models],
        [Trial("fuzz", name, _FUZZ_INPUTS) for name in fuzzing],
    ]
    turns = itertools.zip_longest(*groups)
    return [trial for turn in turns for trial in turn if trial is not None]


def attempt(attacked: Attacked, trial: Trial, seed: str) -> Done:
    """Runs one trial; all its chance comes from `seed`."""
    dice = random.Random(seed)
    if trial.kind == "fuzz":
        # 0 would be the time.
        number = dice.randrange(1, 2**32)
        fuzzed = fuzzers.run(attacked.fuzzers[trial.target], number, trial.inputs)
        counted = Counter({"run": fuzzed.inputs})
        return Done(counted, (fuzzed.edges, fuzzed.features), fuzzed.find)
    if trial.kind == "property":
        return _hold(properties.of(attacked.kernels.read_bytes())[trial.target], dice, trial.inputs)
    return _damage_models(attacked, trial, dice)


def _hold(held: properties.Property, dice: random.Random, count: int) -> Done:
    try:
        counts = properties.run(held, dice.randrange(2**32), count)
    except Exception as fault:
        return Done(Counter(found=1), find="".join(traceback.format_exception(fault)))
    return Done(Counter(value=counts.values, sentence=counts.sentences))


def _damage_models(attacked: Attacked, trial: Trial, dice: random.Random) -> Done:
    model = Path(trial.target)
    outcomes: Counter[str] = Counter()
    finds = []
    if trial.kind == "read":
        model_files.load(model.suffix)

    def one(copy: Path) -> model_files.Outcome:
        if trial.kind == "read":
            return model_files.read(copy)
        return model_files.command([str(attacked.bmc)], copy)

    for outcome, copy in model_files.attempts(model, dice, trial.inputs, one):
        outcomes[outcome.word] += 1
        if outcome.fault:
            packed = base64.b64encode(copy).decode()
            finds.append(f"{outcome.fault}\nthe model, as a zip in base64: {packed}\n")
    return Done(outcomes, find="\n".join(finds))


class Totals:
    """Inputs and outcomes of each target over all trials, and the most that was covered."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Counter[str]] = {}
        self._coverage: dict[str, tuple[int, int]] = {}

    def add(self, name: str, done: Done) -> None:
        self._outcomes.setdefault(name, Counter()).update(done.outcomes)
        self._coverage[name] = max(self._coverage.get(name, (0, 0)), done.coverage)

    def lines(self) -> list[str]:
        lines = []
        for name, outcomes in sorted(self._outcomes.items()):
            edges, features = self._coverage[name]
            covered = f"; {edges} edges, {features} features" if edges else ""
            said = ", ".join(f"{count:,} {word}" for word, count in outcomes.most_common())
            lines.append(f"{name}: {sum(outcomes.values()):,} inputs: {said}{covered}")
        total = sum(sum(outcomes.values()) for outcomes in self._outcomes.values())
        return [*lines, f"{total:,} inputs in all"]


def _results(
    attacked: Attacked, budget: campaign.Budget, planned: list[Trial], totals: Totals
) -> Iterator[Result]:
    trials = [planned[number % len(planned)] for number in budget.trials()]
    seeds = [f"{budget.seed}/{number}" for number in budget.trials()]
    # A new process for each trial, because a process imports one framework and never gets rid of it.
    with ProcessPoolExecutor(
        os.cpu_count(), mp_context=get_context("spawn"), max_tasks_per_child=1
    ) as pool:
        everything = pool.map(attempt, itertools.repeat(attacked), trials, seeds)
        for number, trial, done in zip(budget.trials(), trials, everything, strict=True):
            name = f"{trial.kind} {Path(trial.target).name}"
            totals.add(name, done)
            yield Result(number, f"{name}{': found' if done.find else ''}", done.find or None)


@cli.program("bytes", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    campaign.add_arguments(parser, count=FULL_LENGTH)
    parser.add_argument("--fuzzer", type=_absolute, action="append", required=True)
    parser.add_argument("--compiled", type=_absolute, nargs="+", required=True)
    parser.add_argument("--model", type=_absolute, action="append", required=True)
    parser.add_argument("--saved-model", type=_absolute, nargs="+", required=True)
    parser.add_argument("--bmc", type=_absolute, required=True)
    options = parser.parse_args(args)
    attacked = _attacked(options)
    planned = schedule(attacked)
    totals = Totals()
    console = Console()
    status = campaign.run(
        "bytes",
        _results(attacked, campaign.budget(options), planned, totals),
        count=options.count,
        finds=options.finds,
        console=console,
    )
    for line in totals.lines():
        console.print(line, highlight=False, soft_wrap=True)
    return status


def _attacked(options: argparse.Namespace) -> Attacked:
    (kernels,) = (path for path in options.compiled if path.name == "kernels.elf")
    (saved_model,) = (path for path in options.saved_model if path.name == "saved_model.pb")
    return Attacked(
        fuzzers={path.name: path for path in options.fuzzer},
        kernels=kernels,
        models=(*options.model, saved_model.parent),
        bmc=options.bmc,
    )


def _absolute(text: str) -> Path:
    return Path(text).absolute()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
