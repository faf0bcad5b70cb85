"""Finds the products of which int8 leaves nothing.

Int8 has steps of one size. Where a few numbers are large, a product that takes the others from one another is left with
their roundings. A logarithm tells numbers apart by their ratio, however small they are: most of the power spectrum of
speech is below one step, where every number becomes the same.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bmc import spec
from bmc.dtype import Array
from bmc.frontends.onnx_file import OnnxFile

# Numbers are lost if their error is such a share of their standard deviation: typical products are 0.01 to 0.1 off.
_LOST = 0.2
# A logarithm, only if its error is so many times larger than that of what it reads.
_ENLARGED = 4.0
# Inputs that say how large errors are.
_CASES = 4
# Fewer results may be alike by chance.
_FEWEST = 64
_STEPS = ("DequantizeLinear", "QuantizeLinear")


@dataclass(frozen=True)
class Lost:
    """Nodes that must not read int8, because it leaves nothing of what they compute.

    Attributes:
      nodes: their names.
      why: what is off, and by how much.
    """

    nodes: frozenset[str]
    why: str


def find(
    file: OnnxFile,
    quantized: OnnxFile,
    chosen: Mapping[str, bool],
    calibration: tuple[spec.Case, ...],
) -> Lost | None:
    """Returns products that lose their own results, else those in front of the first logarithm that is lost.

    Args:
      file: the model in f32.
      quantized: the same in int8.
      chosen: the names of the nodes that read int8, and whether each is a product.
      calibration: inputs to measure errors on.

    Raises:
      BmcError: onnxruntime cannot run a model.
    """
    cases = calibration[:_CASES]
    shares = _alone(file, quantized, {name for name, each in chosen.items() if each}, cases)
    lost = {name: share for name, share in shares.items() if share > _LOST}
    if lost:
        least, most = (f"{pick(lost.values()):.0%}" for pick in (min, max))
        off = most if least == most else f"{least} to {most}"
        return Lost(
            frozenset(lost), f"in int8, results are off by {off} of their standard deviation"
        )
    return _before_logarithm(file, quantized, chosen, cases)


def _alone(
    file: OnnxFile, quantized: OnnxFile, products: Collection[str], cases: tuple[spec.Case, ...]
) -> dict[str, float]:
    """Returns the error of each product if nothing else is int8, as a share of its standard deviation."""
    model, pairs = _beside(file.model, quantized.model, products)
    sums = {name: np.zeros(4) for name in pairs}
    for case in cases:
        # One at a time: all feature maps are outputs.
        (results,) = replace(file, model=model).run((case,))
        values = dict(zip((output.name for output in model.graph.output), results, strict=True))
        for name, pair in pairs.items():
            want, got = (values[each].astype(np.float64) for each in pair)
            error = np.sum((got - want) ** 2)
            sums[name] += (want.size, want.sum(), np.sum(want**2), error)
    shares = {}
    for name, (count, total, squares, error) in sums.items():
        spread = squares - total**2 / count
        if count >= _FEWEST and spread > 0:
            shares[name] = math.sqrt(error / spread)
    return shares


def _beside(
    model: Any, quantized: Any, products: Collection[str]
) -> tuple[Any, dict[str, tuple[str, str]]]:
    """Returns a model that computes products in f32 and beside that in int8, and for each the names of both results."""
    beside = type(model)()
    beside.CopyFrom(model)
    graph = beside.graph
    given = {item.name for item in graph.initializer}
    graph.initializer.extend(i for i in quantized.graph.initializer if i.name not in given)
    copies = [node for node in quantized.graph.node if node.op_type in _STEPS]
    made = {name: f"{name} of int8" for node in copies for name in node.output}
    pairs = {}
    for node in (*copies, *(n for n in quantized.graph.node if n.name in products)):
        copy = graph.node.add()
        copy.CopyFrom(node)
        copy.name = f"{node.name} of int8"
        copy.input[:] = [made.get(name, name) for name in node.input]
        copy.output[:] = [f"{name} of int8" for name in node.output]
        if node.name in products:
            pairs[node.name] = (node.output[0], copy.output[0])
    del graph.output[:]
    for name in dict.fromkeys(name for pair in pairs.values() for name in pair):
        graph.output.add().name = name
    return beside, pairs


def _before_logarithm(
    file: OnnxFile,
    quantized: OnnxFile,
    chosen: Mapping[str, bool],
    cases: tuple[spec.Case, ...],
) -> Lost | None:
    makers = {name: node for node in file.model.graph.node for name in node.output}
    behind = {
        node.output[0]: nodes
        for node in file.model.graph.node
        if node.op_type == "Log" and (nodes := _nearest(node, makers, chosen))
    }
    if not behind:
        return None
    exact, rounded = (_around(each, behind.keys(), cases) for each in (file, quantized))
    for name, nodes in behind.items():
        read, share = (
            _share(want, got) for want, got in zip(exact[name], rounded[name], strict=True)
        )
        if share > max(_LOST, _ENLARGED * read):
            off = f"{share:.0%} of its standard deviation"
            return Lost(nodes, f"in int8, the logarithm '{name}' behind is off by {off}")
    return None


def _nearest(
    logarithm: Any, makers: Mapping[str, Any], chosen: Mapping[str, bool]
) -> frozenset[str]:
    found, seen = set(), set()
    waiting = list(logarithm.input)
    while waiting:
        name = waiting.pop()
        node = makers.get(name)
        if name in seen or node is None:
            continue
        seen.add(name)
        if node.name in chosen:
            found.add(node.name)
        if not chosen.get(node.name):
            waiting.extend(node.input)
    return frozenset(found)


def _around(
    file: OnnxFile, names: Set[str], cases: tuple[spec.Case, ...]
) -> dict[str, tuple[Array, Array]]:
    """Returns what the logarithms of these names read and compute in all cases."""
    model = type(file.model)()
    model.CopyFrom(file.model)
    nodes = [node for node in model.graph.node if not names.isdisjoint(node.output)]
    wanted = [name for node in nodes for name in (node.input[0], node.output[0])]
    del model.graph.output[:]
    for name in dict.fromkeys(wanted):
        model.graph.output.add().name = name
    results = replace(file, model=model).run(cases)
    values = {
        output.name: np.concatenate([case[index].ravel() for case in results]).astype(np.float64)
        for index, output in enumerate(model.graph.output)
    }
    return {node.output[0]: (values[node.input[0]], values[node.output[0]]) for node in nodes}


def _share(want: Array, got: Array) -> float:
    """Returns the root of the mean squared error, as a share of the standard deviation."""
    finite = np.isfinite(want) & np.isfinite(got)
    spread = float(np.std(want, where=finite)) if finite.any() else 0.0
    return float(np.sqrt(np.mean((want - got) ** 2, where=finite))) / spread if spread else 0.0
