"""Runs IREE from phase to phase and applies the rewrites in between."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic

from iree.compiler import ir

from bmc.errors import BmcError, InternalError
from bmc.ir import ir_util
from bmc.iree import phases
from bmc.iree.phases import Phase
from bmc.iree.tool import IreeTool
from bmc.rewrites.decisions import Again
from bmc.rewrites.rewrite import C, Rewrite

# Reads a module after a phase's rewrites without changing it.
Observer = Callable[[Any], None]


class Stopped(Exception):
    """The rewrite named by `stop_after` has run. `text` is the IR."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


@dataclass
class Runner(Generic[C]):
    """Runs a part of the pipeline.

    Attributes:
      tool: runs IREE in the folder that holds all intermediate files.
      pipeline: the rewrites in order.
      context: passed to each rewrite.
      flags: returns the iree-compile flags for reaching a phase.
      observers: called with the module after a phase's rewrites, but before those that hide something.
      keep: folder that receives every intermediate as numbered text, None to keep none.
      stop_after: name of the rewrite to stop after, "" to run all.
    """

    tool: IreeTool
    pipeline: tuple[Rewrite[C], ...]
    context: C
    flags: Callable[[Phase], tuple[str, ...]]
    observers: Mapping[Phase, Observer]
    keep: Path | None = None
    stop_after: str = ""

    def run(self, source: Path, begin: Phase, end: Phase) -> Path:
        """Takes the IR in `source` from one phase to another, before whose rewrites it ends; returns the result's file.

        Raises:
          BmcError: IREE or a rewrite refuses the model.
          InternalError: a rewrite failed or left invalid IR; names the rewrite and a file with its input.
          Again: a rewrite found out that others should have decided otherwise.
          Stopped: the rewrite `stop_after` has run.
        """
        first, last = map(phases.PHASES.index, (begin, end))
        on_the_way = [
            phase
            for phase in phases.PHASES[first : last + 1]
            if phase in (begin, end) or phase in self.observers or self._rewrites(phase)
        ]
        # One for all phases, because it takes longer to make than a phase of a small model to read.
        with ir.Context(), ir.Location.unknown():
            for phase, following in pairwise(on_the_way):
                source = self._rewrite(phase, source)
                source = self._reach(following, source, phase)
            if self.keep is not None and end is phases.PHASES[-1]:
                self._keep_text(ir_util.read(source), end)
        return source

    def _rewrites(self, phase: Phase) -> list[Rewrite[C]]:
        return [r for r in self.pipeline if r.after is phase and r.applies(self.context)]

    def _reach(self, phase: Phase, source: Path, reached: Phase) -> Path:
        output = self.tool.work / f"{phase.name}.mlirbc"
        if phase.passes:
            self.tool.run_passes(source.name, output.name, phase.passes)
        else:
            way = (*phases.resuming(reached), *phases.ending(phase))
            self.tool.compile(source.name, output.name, *way, *self.flags(phase))
        return output

    def _rewrite(self, phase: Phase, source: Path) -> Path:
        rewrites = self._rewrites(phase)
        before = copy.deepcopy(self.context)
        # Symbols in the kernels begin with the name of the first file that IREE gets.
        output = self.tool.work / (
            "model.mlirbc" if phase is phases.INPUT else f"{phase.name}-rewritten.mlirbc"
        )
        module = ir_util.read(source)
        self._keep_text(module, phase)
        seen = phase not in self.observers
        for number, rewrite in enumerate(rewrites, 1):
            if rewrite.hides and not seen:
                self.observers[phase](module)
                seen = True
            try:
                rewrite.apply(module, self.context)
                module.operation.verify()
            except (BmcError, Again):
                raise
            except Exception as error:
                file = self._save_input(source, rewrites[:number], before)
                raise InternalError(
                    f"rewrite '{rewrite.name}' failed; its input is {file}: {error}"
                ) from error
            self._keep_text(module, phase, number, rewrite.name)
            if rewrite.name == self.stop_after:
                raise Stopped(_text(module))
        if not seen:
            self.observers[phase](module)
        ir_util.write(module, output)
        return output

    def _keep_text(self, module: Any, phase: Phase, number: int = 0, rewrite: str = "") -> None:
        if self.keep is None:
            return
        self.keep.mkdir(parents=True, exist_ok=True)
        place = f"{phases.PHASES.index(phase) + 1}.{number:02}"
        file = self.keep / f"{place}-{rewrite or phase.name}.mlir"
        file.write_text(_text(module), encoding="utf-8")

    def _save_input(self, source: Path, rewrites: list[Rewrite[C]], context: C) -> Path:
        """Writes the input of the last of `rewrites`, by applying the others to `source` again."""
        self.tool.reproducer.mkdir(parents=True, exist_ok=True)
        file = self.tool.reproducer / f"{rewrites[-1].name}.mlirbc"
        module = ir_util.read(source)
        for rewrite in rewrites[:-1]:
            rewrite.apply(module, context)
        ir_util.write(module, file)
        return file


def _text(module: Any) -> str:
    """The IR as readable text, with locations and without the bytes of large constants."""
    text: str = module.operation.get_asm(
        enable_debug_info=True, large_elements_limit=16, large_resource_limit=64
    )
    return text


def describe(pipeline: tuple[Rewrite[Any], ...]) -> str:
    """Returns the pipeline as a Markdown table: each of IREE's phases, then the rewrites after it."""
    rows = ["| Phase | Rewrite | What for | Why here |", "| --- | --- | --- | --- |"]
    for phase in phases.PHASES:
        rows.append(f"| **{phase.name}** | | {phase.holds} | |")
        rows += [f"| | `{r.name}` | {r.purpose} | {r.why} |" for r in pipeline if r.after is phase]
    return "\n".join(rows) + "\n"
