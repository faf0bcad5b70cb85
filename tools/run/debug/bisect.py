"""Finds the first dispatch whose outputs differ between a program and a reference of the same model.

Both run under gdb, which saves the outputs of every dispatch. Each side is read by its own plan,
because their memory layouts may differ.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path

import numpy as np

from bmc.dtype import Array, is_float
from bmc.report import Dispatch, Model
from tools.cli import UserError
from tools.run import process
from tools.run.debug import session, tolerance
from tools.run.debug.program import Program
from tools.run.debug.tolerance import Tolerance


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    agree: bool
    sentence: str


@dataclasses.dataclass(frozen=True)
class Step:
    """The effect of a command: `outputs` by name, each as (memory before, memory after)."""

    call: int
    command: int
    function: str
    outputs: dict[str, tuple[Array, Array]]


def run(gdb: str, program: Program, reference: Program, model: str, call: int | None) -> Result:
    """Compares a call of a model, by default the first one whose answer was wrong.

    Raises:
      UserError: one of the programs could not be debugged.
    """
    model, call, wrong = _choose(program, model, call)
    report = program.report(model)
    model = report.name
    # The model's state may have gone wrong in an earlier call.
    first = 0 if report.state_bytes else call
    with tempfile.TemporaryDirectory() as folder:
        traces = []
        for side in (program, reference):
            out = Path(folder) / side.board
            session.batch(gdb, side, [f'ironcast trace "{out}" {first} {call} {model}'])
            traces.append(_read(out))
        calls = f"{model}, call {call}" if first == call else f"{model}, calls {first} to {call}"
        sides = (program.board, reference.board)
        found = compare(traces[0], traces[1], tolerance.of_report(report), sides, report)
    if found:
        return Result(False, f"{calls}: {found}")
    count = len(traces[0])
    sentence = f"{calls}: the outputs of all {count} dispatches agree between {' and '.join(sides)}"
    if wrong:
        sentence += "; any difference from the framework is on both sides: look at the import"
    return Result(True, sentence + ".")


def _choose(program: Program, model: str, call: int | None) -> tuple[str, int, bool]:
    """Returns model, call and whether its answer was wrong, from a run of the program."""
    # A board's console is not visible here.
    if call is not None or not program.run:
        return model, call or 0, False
    outcome = process.run(program.run, program.deadline, env=process.with_tools(program.path_tools))
    for name, records in outcome.models().items():
        for record in records:
            if model in ("", name) and record.kind == "CASE" and record.field("result") != "ok":
                return name, record.number("index"), True
    return model, 0, False


def _read(folder: Path) -> list[Step]:
    def load(output: dict[str, str]) -> tuple[Array, Array]:
        before, after = (np.load(folder / output[when]) for when in ("before", "after"))
        if output["dtype"] == "bf16":
            before, after = ((a.astype(np.uint32) << 16).view(np.float32) for a in (before, after))
        return before, after

    return [
        Step(
            step["call"],
            step["command"],
            step["function"],
            {name: load(output) for name, output in step["outputs"].items()},
        )
        for step in json.loads((folder / "trace.json").read_text())
    ]


def compare(
    steps: list[Step],
    references: list[Step],
    close: Tolerance,
    sides: tuple[str, str],
    report: Model,
) -> str:
    """Returns a sentence about the first dispatch that differs, or "" if none does.

    Raises:
      UserError: the two have different dispatches.
    """
    about = {dispatch.name: dispatch for dispatch in report.dispatches}
    branches = any(entry.driver for entry in report.entries)
    others = (
        f"the model has other dispatches in {sides[1]} than in {sides[0]}: compare its layers with"
        " `.validate -- --per-layer` instead"
    )
    if not branches and len(steps) != len(references):
        raise UserError(others)
    for step, reference in zip(steps, references, strict=False):
        who = _who(step, about[step.function])
        if (step.call, step.command) != (reference.call, reference.command):
            if not branches:
                raise UserError(others)
            return (
                f"{sides[0]} went on to {who} where {sides[1]} ran command {reference.command}:"
                " a branch was decided differently"
            )
        for name, (before, after) in step.outputs.items():
            other = reference.outputs.get(name)
            if other is None or other[1].shape != after.shape or other[1].dtype != after.dtype:
                raise UserError(others)
            # Memory that neither side wrote keeps its previous contents.
            written = (_bits(before) != _bits(after)) | (_bits(other[0]) != _bits(other[1]))
            sentence = _differ(after, other[1], written, close)
            if sentence:
                where = f"between {sides[0]} and {sides[1]}"
                return f"{who} is the first whose outputs differ {where}: {name} {sentence}"
    if len(steps) != len(references):
        return f"{sides[0]} ran {len(steps)} dispatches, {sides[1]} {len(references)}"
    return ""


def _who(step: Step, dispatch: Dispatch) -> str:
    place = f", made of {dispatch.source}" if dispatch.source else ""
    return f"command {step.command}, {step.function} ({dispatch.op}{place}),"


def _bits(array: Array) -> Array:
    return array.view(f"u{array.itemsize}")


def _differ(got: Array, want: Array, written: Array, close: Tolerance) -> str:
    """Returns how `got` differs from `want` where `written` is true, or "" if it does not."""
    got_there, want_there = got[written], want[written]
    error, beyond = close.judge(got_there, want_there)
    if not beyond.any():
        return ""
    allowed = "nothing"
    if is_float(want):
        allowed = f"{close.absolute(want_there):.1e} + {close.rtol:.0e} of the value"
    place = tuple(int(i) for i in np.argwhere(written)[beyond][0])
    return (
        f"differs in {np.count_nonzero(beyond)} of {got.size} elements, by up to"
        f" {error[beyond].max():.6g} ({allowed} is allowed), first at"
        f" {list(place)}: {got[place]:.9g}, not {want[place]:.9g}"
    )
