"""Compiles a model with a tuning.json, runs it on Spike against its golden data, and counts what each dispatch took."""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmc import artifacts, records, target
from bmc.compile import CompileOptions, compile_model
from bmc.cores import core as cores
from bmc.cores.core import Core
from bmc.report import Model
from tools.report.bench import mca, measure, measured
from tools.report.tune.variants import Group
from tools.run.kit import Kit


@dataclass(frozen=True)
class Cost:
    """What dispatches took in one inference.

    Attributes:
      instructions: counted by Spike.
      cycles: modeled (tools/report/bench/mca.py); None if the model does not know an instruction.
      failed: why there is no such kernel, or what is wrong with its answer; "" for a good one.
    """

    instructions: int = 0
    cycles: float | None = None
    failed: str = ""

    def beats(self, other: Cost) -> bool:
        """Whether it takes fewer instructions and no more cycles, or as many and fewer cycles."""
        if self.failed:
            return False
        mine, theirs = self.cycles or 0.0, other.cycles or 0.0
        if self.cycles is None or other.cycles is None:
            mine = theirs = 0.0
        return mine <= theirs and (self.instructions, mine) < (other.instructions, theirs)


@dataclass(frozen=True)
class Trial:
    """One run. `functions` has the cost of each dispatch function, `report` is the compiler's."""

    total: Cost
    functions: dict[str, Cost]
    report: Model


@dataclass(frozen=True)
class Bench:
    """Where kernels are tried.

    Attributes:
      kit: what links images and boots them; its environment counts every instruction.
      imported, optimized: folders of the model, from `bmc import` and `bmc optimize`.
      float_parts, stored_weights, core, ram: as in CompileOptions.
      objdump, mca: programs.
    """

    kit: Kit
    imported: Path
    optimized: Path
    float_parts: Mapping[str, str]
    stored_weights: str
    core: Core | None
    ram: int | None
    objdump: Path
    mca: Path

    @staticmethod
    def load(session: dict[str, Any], model: dict[str, Any], kit: Kit) -> Bench:
        """Reads what bm_trials recorded, in this process's working folder."""
        return Bench(
            kit,
            Path(model["imported"]).absolute(),
            Path(model["optimized"]).absolute(),
            model["float_parts"],
            model["stored_weights"],
            cores.find(model["core"]) if model["core"] else None,
            model["ram"] or None,
            Path(session["objdump"]).absolute(),
            Path(session["mca"]).absolute(),
        )

    @property
    def isa(self) -> str:
        return str(self.kit.data["isa"])

    def run(self, entries: dict[str, Any], *, proposes: bool = False) -> Trial:
        """Tries all entries of a tuning.json at once.

        Raises:
          Exception: it does not compile, or an answer is wrong; the message says so.
        """
        with tempfile.TemporaryDirectory() as folder:
            out, tuning = Path(folder) / "out", Path(folder) / "tuning.json"
            tuning.write_text(json.dumps({self.isa: entries}), encoding="utf-8")
            options = CompileOptions(
                self.kit.data["c_name"],
                target.find(self.isa),
                out,
                tuning,
                self.float_parts,
                proposes=proposes,
                optimized=self.optimized,
                stored_weights=self.stored_weights,
                core=self.core,
                ram=self.ram,
            )
            data = compile_model(artifacts.load(self.imported), options)
            report = records.decode(Model, data)
            elf = self.kit.link(out)
            (environment,) = self.kit.data["runs"]
            outcome = self.kit.run(elf, environment)
            argv = [str(self.objdump), "-d", "--no-show-raw-insn", str(elf)]
            text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        second_opinion = mca.Core(str(self.mca))
        (row,) = measure.image([report], outcome, text.splitlines(), second_opinion)
        return _trial(row, report)

    def costs(self, chosen: Mapping[Group, str], base: dict[str, Any]) -> dict[Group, Cost]:
        """Tries one variant of each group; if something fails, halves of them, until it is known which.

        Args:
          chosen: the variants.
          base: what tuning.json has besides.
        """
        entries = {group.key: json.loads(variant) for group, variant in chosen.items()}
        try:
            trial = self.run({**base, **entries})
        except Exception as error:
            items = list(chosen.items())
            if len(items) == 1:
                return {items[0][0]: Cost(failed=" ".join(str(error).split())[:300])}
            half = len(items) // 2
            return self.costs(dict(items[:half]), base) | self.costs(dict(items[half:]), base)
        return {group: of_group(group, trial) for group in chosen}


@contextlib.contextmanager
def benches(path: Path) -> Iterator[list[tuple[dict[str, Any], Bench]]]:
    """Gives the models that bm_trials recorded in a file, each with where it is tried."""
    # A program that makes entries, or many trials of one model, needs no warnings about them.
    logging.basicConfig(level=logging.ERROR)
    session = json.loads(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as root:
        kit = Kit.load(Path(session["kit"]), Path(root))
        yield [(model, Bench.load(session, model, kit)) for model in session["models"]]


def of_group(group: Group, trial: Trial) -> Cost:
    """Returns what all dispatches of a group took."""
    return _sum([trial.functions[name] for name in group.functions if name in trial.functions])


def _sum(costs: list[Cost]) -> Cost:
    cycles = [cost.cycles for cost in costs]
    return Cost(
        sum(cost.instructions for cost in costs),
        None if None in cycles else sum(each for each in cycles if each is not None),
    )


def _trial(row: measured.Model, report: Model) -> Trial:
    parts: dict[str, list[Cost]] = {}
    for command in row.commands:
        if command.kind == "dispatch":
            cycles = command.cycles if isinstance(command, measured.Executed) else None
            parts.setdefault(command.function, []).append(Cost(command.instructions, cycles))
    functions = {name: _sum(costs) for name, costs in parts.items()}
    total = Cost(row.instructions, _sum(list(functions.values())).cycles)
    return Trial(total, functions, report)
