"""Puts several random models into one image and judges each of them.

Every model is an entry point of one MLIR module, so compiling, linking and booting cost about as much as for
one model. All of them share the arena, and each runs twice, so each also notices what another leaves behind.
Then the states are reset, and models with state run once more.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from answers import UndecidedError, answers
from graph import Graph
from image import CALLS, Image, Ready, Verdict, failed, initial, mark
from program import Program
from together import name

from bmc.frontends import link, torch_export, torch_quantize
from tools.run.kit import Kit

# Inputs on which a model is tried until its answer does not depend on roundings.
_TRIES = 5


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
    from torch.export import exported_program
    from torch_mlir import fx  # noqa: F401
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    # PyTorch lists all ops that it knows for each export, in case there are new ones. Here there are none.
    known = functools.cache(exported_program._collect_all_valid_cia_ops)
    exported_program._collect_all_valid_cia_ops = known
    program = torch.export.export(torch.nn.ReLU(), (torch.zeros(2),), strict=False)
    program.run_decompositions(get_decomposition_table())


def check(graphs: tuple[Graph, ...], kit: Kit, *, plain: bool = True) -> list[Verdict]:
    """Judges models that share an image; those that are refused or undecided are left out of it.

    Args:
      graphs: the models.
      kit: what links images and boots them.
      plain: also judge an image without the rewrites that only make kernels faster.
    """
    verdicts: dict[int, Verdict] = {}
    ready: dict[int, Ready] = {}
    for index, graph in enumerate(graphs):
        try:
            ready[index] = _prepare(graph)
        except Exception as error:
            verdicts[index] = failed("import", error)
    with tempfile.TemporaryDirectory() as folder:
        functions: dict[int, link.Function] = {}
        for index, model, states in _with_states(ready):
            try:
                functions[index] = _export(name(index), model, states, initial(ready), Path(folder))
            except Exception as error:
                verdicts[index] = failed("import", error)
        verdicts |= Image(ready, functions, kit, plain).judge()
    return [verdicts[index] for index in range(len(graphs))]


def _prepare(graph: Graph) -> Ready:
    program = Program(graph)
    states = program.initial()
    examples = [program.inputs(number) for number in range(CALLS)]
    with torch.no_grad():
        program(*examples[0], *states)
    module = _quantized(program, examples) if graph.int8 else program
    for first in range(0, _TRIES * CALLS, CALLS):
        calls = tuple(program.inputs(first + number) for number in range(CALLS))
        try:
            return Ready(module, program, answers(module, calls, states, int8=graph.int8))
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


def _with_states(ready: dict[int, Ready]) -> Iterator[tuple[int, Ready, slice]]:
    """Yields each model with the place of its states among all states."""
    first = 0
    for index, model in ready.items():
        count = len(model.program.graph.states)
        yield index, model, slice(first, first + count)
        first += count


def _export(
    entry: str, model: Ready, states: slice, states_of_all: tuple[Any, ...], work: Path
) -> link.Function:
    function = link.Function(entry, work / f"{entry}.mlirbc")
    arguments = model.program.inputs(0)
    int8 = model.program.graph.int8
    torch_export.export(
        _Entry(model.module, len(arguments), states),
        (*arguments, *states_of_all),
        torch_quantize.OUTPUT_TYPE if int8 else "stablehlo",
        work,
        function.mlir,
        work / "reproducer",
        link.pure_name(entry),
    )
    if int8:
        torch_quantize.lower(function.mlir, work / "reproducer")
    mark(function)
    return function
