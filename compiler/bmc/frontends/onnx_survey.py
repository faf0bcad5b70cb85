"""Surveys an .onnx file: everything in it that blocks its import, and inputs that select a branch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmc import golden
from bmc.errors import BmcError
from bmc.frontends import (
    onnx_cuts,
    onnx_file,
    onnx_graph,
    onnx_limits,
    onnx_pinned,
    onnx_refused,
    onnx_sparse,
    onnx_static,
    survey,
)
from bmc.frontends.onnx_file import OnnxFile
from bmc.frontends.options import ImportOptions
from bmc.frontends.survey import Survey

# Comparisons of an input with the values that select a branch.
_COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")


def survey_file(path: Path, options: ImportOptions) -> Survey:
    """Surveys a file; raises BmcError if onnx cannot read it."""
    file = onnx_file.load(path)
    too_much = tuple(onnx_limits.found(file.model, file.name, options.limits))
    survey_of = Survey(
        file.inputs,
        symbols=dict(_symbols(file)),
        switches=_switches(file),
        found=too_much,
    )
    try:
        onnx_sparse.densify(file.model, file.name, options.limits)
    except BmcError as error:
        return replace(survey_of, found=(*too_much, error))
    # Functions that become too much are not written out.
    whole = file if too_much else file.inlined()
    weights = whole.weights()
    found = (
        *too_much,
        *onnx_refused.found(whole.model, file.name, weights),
        *onnx_static.random(whole.model, file.name),
        *survey.not_finite(weights, whole.bounds()),
    )
    if too_much:
        return replace(survey_of, found=found)
    return replace(survey_of, found=found, rejected=lambda options: _rejected(file, options, found))


def _symbols(file: OnnxFile) -> Iterator[tuple[tuple[str, int], str]]:
    for value in file.model.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param:
                yield (value.name, axis), dim.dim_param


def _switches(file: OnnxFile) -> dict[str, tuple[float, ...]]:
    """Returns the inputs of one element on which alone the condition of an If depends, with what they are compared."""
    graph = file.model.graph
    makers = {output: node for node in graph.node for output in node.output}
    single = {info.name for info in file.inputs if all(dim in (None, 1) for dim in info.shape)}
    single &= {info.name for info in file.inputs if not info.dtype.is_float}
    inputs = {info.name for info in file.inputs}
    found: dict[str, tuple[float, ...]] = {}
    for node in graph.node:
        if node.op_type == "If":
            sources = _sources(node.input[0], makers, inputs)
            if len(sources) == 1 and sources <= single:
                (name,) = sources
                found[name] = tuple(dict.fromkeys(_compared(file.model, name)))
    return found


def _sources(value: str, makers: Mapping[str, Any], inputs: set[str]) -> set[str]:
    """Returns the inputs of the model that a value depends on."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [value]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in inputs:
            found.add(name)
        elif name in makers:
            waiting += makers[name].input
    return found


def _compared(model: Any, name: str) -> Iterator[float]:
    """Yields the constants of one element that an input is compared with anywhere in a model."""
    from onnx import numpy_helper

    nodes = list(onnx_graph.nodes_within(model.graph.node))
    constants = onnx_graph.constants(model.graph)
    for node in nodes:
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                constants.update(onnx_graph.constants(graph))
    same = {name}
    for node in nodes:
        if node.op_type in ("Cast", "Identity", "Reshape", "Squeeze") and node.input[0] in same:
            same.update(node.output)
        if node.op_type in _COMPARISONS and same & set(node.input):
            for other in node.input:
                if (
                    other in constants
                    and (array := numpy_helper.to_array(constants[other])).size == 1
                ):
                    yield float(array.reshape(-1)[0])


def _rejected(
    file: OnnxFile, options: ImportOptions, found: Sequence[BmcError]
) -> Iterator[BmcError]:
    """Yields what the converter rejects of a model without the nodes that were `found`."""
    file = onnx_pinned.pinned(file, options.constants)
    inputs = golden.fix(golden.sized(file.inputs, options.shapes), None)
    file = onnx_static.with_counts(file, inputs)
    places = {error.where.removesuffix(f" in {file.name}") for error in found}
    model = type(file.model)()
    model.CopyFrom(file.model)
    try:
        model = onnx_static.inferred(model, inputs)
        onnx_cuts.cut(model, [node for node in model.graph.node if _place(node) in places])
        static = onnx_static.make(replace(file, model=model), inputs, ())
    except BmcError as error:
        yield error
        return
    yield from onnx_cuts.rejected(static, file)


def _place(node: Any) -> str:
    """Returns where errors say that a node is."""
    return node.name or str(next(iter(node.output), ""))
