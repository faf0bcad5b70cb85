"""Imports a .pt2 file, which is an exported program from torch.export.save()."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmc import conditioning, dtype, factory, golden, installing, samples, spec, tolerances
from bmc.artifacts import ImportedModel
from bmc.errors import BmcError
from bmc.frontends import quiet, torch_archive, torch_tensors, user_cases
from bmc.frontends import torch as torch_frontend
from bmc.frontends.options import ImportOptions
from bmc.frontends.survey import Survey
from bmc.golden import Declared
from bmc.limits import Limits


def import_file(path: Path, options: ImportOptions, out: Path) -> ImportedModel:
    """Imports a .pt2 file.

    Args:
      path: the file.
      options: the user's options; without `cases`, samples.py makes up inputs.
      out: import directory, which must exist.

    Raises:
      BmcError: it is not an exported program, or an op cannot be lowered; the error names the op.
    """
    program = _load(path, options.limits)
    # The guards are Python text, which a file of data must not contain (torch_schema.py).
    module = program.module(check_guards=False)
    given = user_cases.of_file(options)
    declared = tuple(_describe(node) for node in _inputs(program, path.name))
    declared = golden.sized(declared, options.shapes)
    inputs = golden.fix(declared, given.cases[0] if given.cases else None)
    golden.check_cases(given.cases, inputs)
    names = tuple(_describe(node).name for node in _outputs(program, path.name))
    cases = given.cases
    if not cases:
        cases = samples.cases(inputs)
        expected = tuple(torch_frontend.run(module, case, path.parent) for case in cases)
        outputs = golden.infos(expected[0], names, "output")
        is_steady = conditioning.judge(
            lambda case: torch_frontend.run(module, case, path.parent),
            outputs,
            golden.policies_of(
                given.tolerance or tolerances.default(outputs, expected[:1]), outputs
            ),
        )
        cases, expected = samples.sensible(cases, expected, is_steady)
    model = spec.ModelSpec(
        module=module,
        cases=cases,
        tolerance=given.tolerance,
        labels=given.labels,
        input_names=tuple(info.name for info in inputs),
        output_names=names,
        calibration=given.calibration,
        ranges=given.ranges,
    )
    imported = torch_frontend.import_spec(model, f"{path}:forward", options, out)
    imported = replace(imported, source=path.name)
    return imported if given.cases else samples.carry_few(imported)


def survey_file(path: Path, options: ImportOptions) -> Survey:
    """Returns the inputs of a .pt2 file; raises the errors of import_file() for one that cannot be read."""
    program = _load(path, options.limits)
    return Survey(inputs=tuple(_describe(node) for node in _inputs(program, path.name)))


def _load(path: Path, allowed: Limits) -> Any:
    try:
        with quiet.python():
            import torch  # noqa: F401
    except ImportError as error:
        raise BmcError(
            "torch-missing",
            f"importing a .pt2 file needs the package {error.name}",
            hint=installing.hint("torch", "torch-mlir"),
        ) from None
    if not zipfile.is_zipfile(path):
        raise BmcError(
            "bad-file",
            f"'{path.name}' is damaged or not a .pt2 file",
            hint="save the program again",
        )
    try:
        with quiet.python():
            return torch_archive.load(path, allowed)
    except BmcError:
        raise
    except Exception as error:
        raise BmcError(
            "bad-file",
            f"PyTorch cannot load '{path.name}': {factory.first_line(error)}",
            hint="save the program again with this version of PyTorch",
        ) from error


def _inputs(program: Any, source: str) -> list[Any]:
    """Returns the graph's input nodes in the order of the arguments."""
    from torch.utils import _pytree

    names = program.graph_signature.user_inputs
    nodes = [node for node in program.graph.nodes if node.name in names]
    arguments, keywords = _pytree.tree_unflatten(nodes, program.call_spec.in_spec)
    if keywords or list(arguments) != nodes:
        raise BmcError(
            "bad-signature",
            f"the program in '{source}' takes something other than positional tensors",
            hint="export it with one tensor per input",
        )
    return nodes


def _outputs(program: Any, source: str) -> list[Any]:
    nodes = {node.name: node for node in program.graph.nodes}
    names = program.graph_signature.user_outputs
    if not all(name in nodes for name in names):
        raise BmcError(
            "bad-signature",
            f"the program in '{source}' returns something other than tensors",
            hint="export it so that it returns only tensors",
        )
    return [nodes[name] for name in names]


def _describe(node: Any) -> Declared:
    import torch

    tensor = node.meta["val"]
    try:
        element = dtype.from_numpy(torch_tensors.array(torch.empty((), dtype=tensor.dtype)))
    except TypeError as error:
        raise BmcError(
            "unsupported-dtype",
            f"element type {str(tensor.dtype).removeprefix('torch.')} cannot be used for inputs or"
            " outputs",
        ) from error
    return Declared(
        node.name,
        element,
        tuple(size if isinstance(size, int) else None for size in tensor.shape),
    )
