"""Puts several random models into one image and judges each of them.

Every model is an entry point of one MLIR module, so compiling, linking and booting cost about as much as for
one model. All of them share the arena, and each runs twice, so each also notices what another leaves behind.
Then the states are reset, and models with state run once more.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from answers import Answers, UndecidedError, answers
from graph import Graph
from kit import Kit
from program import Program

from bmc import artifacts, golden, target, verify
from bmc.artifacts import GoldenCall, ImportedModel, Signature
from bmc.compile import CompileOptions, compile_model
from bmc.errors import BmcError
from bmc.frontends import link, torch_export, torch_quantize
from tools.emulate import result

RIGHT = "right"
# Inputs on which a model is tried until its answer does not depend on roundings.
_TRIES = 5
_CALLS = 2
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")


@dataclass(frozen=True)
class Verdict:
    """How a model ended: what to count, whether it is a fault, and what to say about it."""

    outcome: str
    fault: bool = False
    sentence: str = ""


@dataclass(frozen=True)
class _Ready:
    """A model with PyTorch's answers; the module maps arguments and states to (outputs, new states)."""

    module: Any
    program: Program
    answers: Answers


class _Entry(torch.nn.Module):  # type: ignore[misc]
    """A model as a function that takes and returns the states of all models in its batch."""

    def __init__(self, module: Any, arguments: int, states: slice) -> None:
        super().__init__()
        self.module = module
        self._arguments = arguments
        self._states = states

    def forward(self, *given: Any) -> Any:
        states = list(given[self._arguments :])
        outputs, states[self._states] = self.module(
            *given[: self._arguments], *states[self._states]
        )
        return outputs, tuple(states)


def load() -> None:
    """Loads what the first export would load, so that processes forked later need not.

    It makes no MLIR context, whose threads would not exist in a forked process.
    """
    from torch_mlir import fx  # noqa: F401
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    program = torch.export.export(torch.nn.ReLU(), (torch.zeros(2),), strict=False)
    program.run_decompositions(get_decomposition_table())


def check(graphs: tuple[Graph, ...], kit: Kit) -> list[Verdict]:
    """Judges models that share an image; those that are refused or undecided are left out of it."""
    verdicts: dict[int, Verdict] = {}
    ready: dict[int, _Ready] = {}
    for index, graph in enumerate(graphs):
        try:
            ready[index] = _prepare(graph)
        except Exception as error:
            verdicts[index] = _failed("import", error)
    with tempfile.TemporaryDirectory() as folder:
        functions: dict[int, link.Function] = {}
        for index, model, states in _with_states(ready):
            try:
                name = f"g{index}"
                functions[index] = _export(name, model, states, _initial(ready), Path(folder))
            except Exception as error:
                verdicts[index] = _failed("import", error)
        image = _Image(ready, functions, kit)
        verdicts |= image.judge(list(functions))
    return [verdicts[index] for index in range(len(graphs))]


@dataclass(frozen=True)
class _Image:
    """Models that are ready to be linked, by number, with their MLIR."""

    ready: dict[int, _Ready]
    functions: dict[int, link.Function]
    kit: Kit

    def judge(self, chosen: list[int]) -> dict[int, Verdict]:
        """Judges models together or, if that fails, in two halves."""
        if not chosen:
            return {}
        try:
            with tempfile.TemporaryDirectory() as work:
                model = _link(
                    [self.ready[index] for index in chosen],
                    [self.functions[index] for index in chosen],
                    self.ready,
                    Path(work),
                )
                return dict(zip(chosen, _judge(model, Path(work), self.kit), strict=True))
        except Exception as error:
            if len(chosen) == 1:
                return {chosen[0]: _failed("compile", error)}
            half = len(chosen) // 2
            found = self.judge(chosen[:half]) | self.judge(chosen[half:])
            if all(verdict.outcome == RIGHT for verdict in found.values()):
                text = " ".join(str(error).split())
                found[chosen[0]] = Verdict("wrong only beside others", True, text)
            return found


def _failed(where: str, error: Exception) -> Verdict:
    if isinstance(error, UndecidedError):
        return Verdict(f"undecided: {error}")
    text = " ".join(str(error).split())
    if isinstance(error, BmcError):
        return Verdict(
            f"refused: {error.kind}: {_NUMBER.sub('N', error.message)[:100]}", False, text
        )
    return Verdict(f"{type(error).__name__} in {where}", True, text[:1000])


def _prepare(graph: Graph) -> _Ready:
    program = Program(graph)
    states = program.initial()
    examples = [program.inputs(number) for number in range(_CALLS)]
    with torch.no_grad():
        program(*examples[0], *states)
    module = _quantized(program, examples) if graph.int8 else program
    for first in range(0, _TRIES * _CALLS, _CALLS):
        calls = tuple(program.inputs(first + number) for number in range(_CALLS))
        try:
            return _Ready(module, program, answers(module, calls, states, int8=graph.int8))
        except UndecidedError as error:
            last = error
    raise last


def _quantized(program: Program, examples: list[tuple[Any, ...]]) -> Any:
    states = program.initial()

    def calibrate(observed: dict[str, Any]) -> None:
        values = states
        for example in examples:
            _, values = observed["forward"](*example, *values)

    example = {"forward": (*examples[0], *states)}
    return torch_quantize.quantize({"forward": program}, example, calibrate, Path())["forward"]


def _initial(ready: dict[int, _Ready]) -> tuple[Any, ...]:
    return tuple(state for model in ready.values() for state in model.program.initial())


def _with_states(ready: dict[int, _Ready]) -> Iterator[tuple[int, _Ready, slice]]:
    """Yields each model with the place of its states among all states."""
    first = 0
    for index, model in ready.items():
        count = len(model.program.graph.states)
        yield index, model, slice(first, first + count)
        first += count


def _export(
    name: str, model: _Ready, states: slice, initial: tuple[Any, ...], work: Path
) -> link.Function:
    function = link.Function(name, work / f"{name}.mlirbc")
    arguments = model.program.inputs(0)
    int8 = model.program.graph.int8
    torch_export.export(
        _Entry(model.module, len(arguments), states),
        (*arguments, *initial),
        torch_quantize.OUTPUT_TYPE if int8 else "stablehlo",
        work,
        function.mlir,
        work / "reproducer",
        link.pure_name(name),
    )
    if int8:
        torch_quantize.lower(function.mlir, work / "reproducer")
    return function


def _link(
    models: list[_Ready], functions: list[link.Function], ready: dict[int, _Ready], work: Path
) -> ImportedModel:
    states = {f"s{i}": state.numpy() for i, state in enumerate(_initial(ready))}
    mlir = work / artifacts.MODEL_FILE
    link.link(tuple(functions), states, mlir)
    signatures = tuple(
        Signature(
            function.name,
            golden.infos(model.answers.inputs[0], (), "input"),
            golden.infos(model.answers.outputs[0], (), "output"),
        )
        for function, model in zip(functions, models, strict=True)
    )
    calls = [(entry, number) for number in range(_CALLS) for entry in range(len(models))]
    again = [(entry, 0) for entry, model in enumerate(models) if model.program.graph.states]
    return ImportedModel(
        mlir=mlir,
        source="random",
        frontend="torch",
        versions={},
        signatures=signatures,
        golden=golden.make_calls(
            calls=tuple(
                GoldenCall(entry, reset=place == len(calls))
                for place, (entry, _) in enumerate(calls + again)
            ),
            inputs=tuple(models[entry].answers.inputs[number] for entry, number in calls + again),
            outputs=tuple(models[entry].answers.outputs[number] for entry, number in calls + again),
            signatures=signatures,
            tolerance=tuple(policy for model in models for policy in model.answers.policies),
        ),
        parameters=(),
        int8=models[0].program.graph.int8,
    )


def _judge(model: ImportedModel, work: Path, kit: Kit) -> list[Verdict]:
    """Runs all cases on this machine, and in the emulators from a tuned and a plain build."""
    found: dict[int, Verdict] = {}
    entries = [call.entry for call in model.golden.calls]
    for checked in verify.run(model, work / "reproducer"):
        if not checked.difference.ok:
            off = f"{checked.output} of call {checked.case} is off by {checked.difference.max_abs:.3g}"
            verdict = Verdict("refused: IREE's host runtime disagrees with PyTorch", False, off)
            found.setdefault(entries[checked.case], verdict)
    first, *_ = kit.data["runs"]
    for build, environments in (("tuned", list(kit.data["runs"])), ("plain", [first])):
        out = work / build
        isa = target.find(kit.data["isa"])
        compile_model(model, CompileOptions(kit.data["c_name"], isa, out, plain=build == "plain"))
        elf = kit.link(out)
        bits: list[str] = []
        for environment in environments:
            where = f"{environment}, {build}"
            cases = _cases(kit.run(elf, environment), where, len(entries))
            hashes = [case.field("hash") for case in cases]
            bits = bits or hashes
            for entry, case, got, wanted in zip(entries, cases, hashes, bits, strict=True):
                if case.field("result") != "ok":
                    found.setdefault(entry, Verdict(f"wrong on {where}", True, case.text))
                elif got != wanted:
                    said = f"{environments[0]} computes other bits: {case.text}"
                    found.setdefault(entry, Verdict(f"other bits on {where}", True, said))
    return [found.get(entry, Verdict(RIGHT)) for entry in range(len(model.signatures))]


class _RunError(Exception):
    """An image did not get through its cases."""


def _cases(outcome: result.Outcome, where: str, count: int) -> list[result.Record]:
    cases = outcome.records("CASE")
    if len(cases) != count or outcome.exit_status is None:
        raise _RunError(f"{where}: {result.judge(outcome).sentence}")
    return cases
