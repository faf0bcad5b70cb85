"""Makes up a model: inputs, then ops on what is there, then outputs and states."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

import elementwise
import indexed
import loops
import tensors
import torch
import windows
from graph import Graph, Input, Node
from op import Op, Values
from program import OPS, Program

_MOST_ELEMENTS = 6000
_LARGEST = 1e6
# Weak sides of compilers come up as often as all other ops together.
_FLOAT_OPS: tuple[tuple[float, dict[str, Op]], ...] = (
    (3.0, windows.CONVOLUTIONS),
    (2.5, windows.OPS),
    (3.0, elementwise.OPS),
    (2.0, elementwise.INTEGER_OPS),
    (1.5, tensors.PRODUCTS),
    (3.0, tensors.MOVES),
    (3.0, tensors.OPS),
    (4.0, indexed.AT_INDICES),
    (3.0, indexed.OPS),
    (0.7, loops.OPS),
)
_INT8_OPS: tuple[tuple[float, dict[str, Op]], ...] = (
    (5.0, {name: windows.CONVOLUTIONS[name] for name in ("conv1d", "conv2d")}),
    (1.5, {name: windows.OPS[name] for name in ("max_pool", "avg_pool", "pad")}),
    (2.0, elementwise.BETWEEN_PRODUCTS),
    (2.0, tensors.PRODUCTS),
    (1.5, tensors.MOVES),
)
_PRODUCTS = (*windows.CONVOLUTIONS, *tensors.PRODUCTS)


def generate(random: Random, *, int8: bool) -> Graph:
    """Returns a random model.

    Args:
      random: where all chance comes from.
      int8: it is to be quantized, so it has a convolution or a matrix product.
    """
    while True:
        graph = _attempt(random, int8)
        if graph.nodes and (not int8 or any(node.op in _PRODUCTS for node in graph.nodes)):
            return graph


def _attempt(random: Random, int8: bool) -> Graph:
    inputs = tuple(
        _input(random, index, int8) for index in range(random.choice((1, 1, 2, 2, 2, 3)))
    )
    if random.random() < 0.15:
        inputs = (*inputs, dataclasses.replace(_input(random, len(inputs), int8), becomes="?"))
    graph = Graph(random.getrandbits(32), int8, inputs, (), ())
    values: dict[str, Any] = {
        given.name: torch.from_numpy(graph.data(given, 0)) for given in inputs
    }
    nodes: list[Node] = []
    for _ in range(random.choice((1, 2, 3, 4, 5, 6, 8, 10))):
        node = _node(random, len(nodes), values, int8)
        if node is None:
            continue
        try:
            with torch.no_grad():
                # A module of its own: a node that is dropped leaves no weights to the next of its name.
                result = Program(graph).apply(node, values)
        except (RuntimeError, ValueError):
            continue  # such as a kernel that is larger than its padded image
        if _usable(result):
            nodes.append(node)
            values[node.name] = result
    return _finish(random, dataclasses.replace(graph, nodes=tuple(nodes)), values)


def _input(random: Random, index: int, int8: bool) -> Input:
    channels = random.choice((1, 2, 3, 3, 4, 5, 7, 8, 9, 16))
    batch = random.choice((1, 1, 1, 1, 2, 3))
    size = (random.randint(1, 14), random.randint(1, 14))
    shape: tuple[int, ...] = random.choice(
        (
            (batch, channels, *size),
            (batch, channels, *size),
            (batch, channels, *size),
            (batch, size[0], channels),
            (batch * size[0], channels),
            (random.randint(1, 70),),
        )
    )
    name = f"x{index}"
    if not int8 and random.random() < (0.5 if index else 0.1):
        dtype = random.choice(("int32", "int64", "int8", "uint8"))
        return Input(name, shape, dtype, 50, 50, kind=random.choice(("", "whole", "ties")))
    if not int8:
        return Input(name, shape, kind="ties" if random.random() < 0.1 else "")
    scale = 10 ** random.uniform(-4, 4) if random.random() < 0.5 else 1.0
    return Input(name, shape, scale=scale, offset=scale * random.choice((0, 0, 1, -3, 20)))


def _node(random: Random, index: int, values: dict[str, Any], int8: bool) -> Node | None:
    tables = _INT8_OPS if int8 else _FLOAT_OPS
    (table,) = random.choices([t for _, t in tables], [weight for weight, _ in tables])
    op = random.choice(sorted(table))
    choice = OPS[op].pick(random, Values(values))
    if choice is None:
        return None
    args, attrs = choice
    if int8 and op in tensors.PRODUCTS and values[args[0]].dim() > 3:
        return None  # IREE has no int8 product of so many dimensions, and bmc refuses f32 here
    if int8 and op in _PRODUCTS and random.random() < 0.3:
        attrs = {**attrs, "weight_scale": 10 ** random.uniform(-3, 3)}
    return Node(f"v{index}", op, args, attrs)


def _usable(result: Any) -> bool:
    if not 0 < result.numel() <= _MOST_ELEMENTS or result.dim() > 5:
        return False
    if not result.is_floating_point():
        return True
    return bool(torch.isfinite(result).all()) and float(result.abs().max()) < _LARGEST


def _finish(random: Random, graph: Graph, values: dict[str, Any]) -> Graph:
    """Makes outputs of what nothing reads, and sometimes of a value between; a state becomes a value."""
    read = {name for node in graph.nodes for name in node.args}
    names = [node.name for node in graph.nodes]
    outputs = [name for name in names if name not in read or random.random() < 0.1]
    inputs = []
    for given in graph.inputs:
        if given.becomes:
            same = [
                n
                for n in names
                if values[n].shape == given.shape and values[n].dtype == values[given.name].dtype
            ]
            given = dataclasses.replace(given, becomes=random.choice(same) if same else "")
        inputs.append(given)
    return dataclasses.replace(graph, inputs=tuple(inputs), outputs=tuple(outputs)).needed()
