"""Runs IREE from phase to phase and applies the rewrites in between."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iree.compiler import ir

from bmc.errors import BmcError, InternalError
from bmc.ir import ir_util
from bmc.iree import phases
from bmc.iree.phases import Phase
from bmc.iree.tool import IreeTool
from bmc.rewrites.context import Context
from bmc.rewrites.rewrite import Again, Rewrite

# Reads a module after a phase's rewrites without changing it.
Observer = Callable[[Any], None]


class Stopped(Exception):
    """The rewrite named by `stop_after` has run. `text` is the IR."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


@dataclass
class Runner:
    """One run of the pipeline.

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
    pipeline: tuple[Rewrite, ...]
    context: Context
    flags: Callable[[Phase], tuple[str, ...]]
    observers: Mapping[Phase, Observer]
    keep: Path | None = None
    stop_after: str = ""
    _kept: int = field(default=0, init=False)

    def run(self, model: Path) -> Path:
        """Compiles an imported model to the last phase; returns the file with the result.

        Raises:
          BmcError: IREE or a rewrite refuses the model.
          InternalError: a rewrite failed or left invalid IR; names the rewrite and a file with its input.
          Stopped: the rewrite `stop_after` has run.
        """
        source = model
        compiled_to = ""
        for phase in phases.PHASES:
            rewrites = [r for r in self.pipeline if r.after is phase and r.applies(self.context)]
            if not rewrites and phase not in self.observers and phase is not phases.PHASES[-1]:
                continue
            if phase is not phases.INPUT:
                source = self._reach(phase, source, compiled_to)
                compiled_to = compiled_to if phase.passes else phase.name
            if rewrites or phase in self.observers:
                source = self._rewrite(phase, source, rewrites)
            elif self.keep is not None:
                with ir.Context():
                    self._keep_text(ir_util.read(source), phase.name)
        return source

    def _reach(self, phase: Phase, source: Path, compiled_to: str) -> Path:
        output = self.tool.work / f"{phase.name}.mlirbc"
        if phase.passes:
            passes = f"--pass-pipeline={phase.passes}"
            self.tool.opt(source.name, output.name, "--emit-bytecode", passes)
        else:
            start = (f"--compile-from={compiled_to}",) if compiled_to else ()
            stop = (f"--compile-to={phase.name}", "--emit-mlir-bytecode")
            self.tool.compile(source.name, output.name, *start, *stop, *self.flags(phase))
        return output

    def _rewrite(self, phase: Phase, source: Path, rewrites: list[Rewrite]) -> Path:
        before = copy.deepcopy(self.context)
        # Symbols in the kernels begin with the name of the first file that IREE gets.
        output = self.tool.work / (
            "model.mlirbc" if phase is phases.INPUT else f"{phase.name}-rewritten.mlirbc"
        )
        with ir.Context(), ir.Location.unknown():
            module = ir_util.read(source)
            self._keep_text(module, phase.name)
            seen = phase not in self.observers
            for number, rewrite in enumerate(rewrites):
                if rewrite.hides and not seen:
                    self.observers[phase](module)
                    seen = True
                try:
                    rewrite.apply(module, self.context)
                    module.operation.verify()
                except (BmcError, Again):
                    raise
                except Exception as error:
                    file = self._save_input(source, rewrites[: number + 1], before)
                    raise InternalError(
                        f"rewrite '{rewrite.name}' failed; its input is {file}: {error}"
                    ) from error
                self._keep_text(module, rewrite.name)
                if rewrite.name == self.stop_after:
                    raise Stopped(_text(module))
            if not seen:
                self.observers[phase](module)
            ir_util.write(module, output)
        return output

    def _keep_text(self, module: Any, name: str) -> None:
        if self.keep is None:
            return
        self.keep.mkdir(parents=True, exist_ok=True)
        self._kept += 1
        (self.keep / f"{self._kept:02}-{name}.mlir").write_text(_text(module), encoding="utf-8")

    def _save_input(self, source: Path, rewrites: list[Rewrite], context: Context) -> Path:
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


def describe(pipeline: tuple[Rewrite, ...]) -> str:
    """Returns the pipeline as a Markdown table: each of IREE's phases, then the rewrites after it."""
    rows = ["| Phase | Rewrite | Why here |", "| --- | --- | --- |"]
    for phase in phases.PHASES:
        rows.append(f"| **{phase.name}** | | {phase.holds} |")
        rows += [f"| | `{r.name}` | {r.why} |" for r in pipeline if r.after is phase]
    return "\n".join(rows) + "\n"
