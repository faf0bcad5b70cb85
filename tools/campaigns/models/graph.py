"""A small model as data: inputs, ops and outputs by name. Its JSON text reproduces it.

Weights and inputs are not in the text: they follow from the graph's seed and their own names, so they stay
the same when other parts of the graph are removed.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.dtype import Array


@dataclass(frozen=True)
class Input:
    """A tensor that the model is given.

    Attributes:
      name: how nodes refer to it.
      shape: its extents.
      dtype: NumPy's name.
      scale, offset: f32 values are normally distributed with this deviation around this mean. Integers
        are uniform between -scale and scale around it.
      kind: "" for such values; "whole" for integers of the whole type with its ends; "ties" for few values, many of
        them equal: -2 to 2 with both zeros, or ends of an integer type.
      becomes: name of the value that replaces it after a call, which makes it a state; "" for an input.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    scale: float = 1.0
    offset: float = 0.0
    becomes: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Node:
    """One op: its name in the table of ops, the names of its operands, and its attributes."""

    name: str
    op: str
    args: tuple[str, ...]
    attrs: dict[str, Any]


@dataclass(frozen=True)
class Graph:
    """A model with one function; nodes are in the order in which they run."""

    seed: int
    int8: bool
    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    @property
    def states(self) -> tuple[Input, ...]:
        return tuple(given for given in self.inputs if given.becomes)

    @property
    def arguments(self) -> tuple[Input, ...]:
        return tuple(given for given in self.inputs if not given.becomes)

    def data(self, given: Input, number: int) -> Array:
        """Returns the values of an input in call `number`; for a state, of its beginning."""
        random = self.random(f"{given.name}.{number}")
        if given.kind:
            return _special(given, random)
        if given.dtype == "float32":
            values = random.standard_normal(given.shape) * given.scale + given.offset
            return np.asarray(values, np.float32)
        low, high = int(given.offset - given.scale), int(given.offset + given.scale)
        return np.asarray(random.integers(low, high, given.shape, endpoint=True), given.dtype)

    def random(self, name: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def needed(self) -> Graph:
        """Returns the graph without nodes, inputs and states that no output depends on."""
        read = set(self.outputs)
        kept: list[Node] = []
        # A state that an output reads keeps what the state becomes.
        while True:
            before = len(read)
            read |= {given.becomes for given in self.states if given.name in read}
            kept = []
            for node in reversed(self.nodes):
                if node.name in read:
                    read |= set(node.args)
                    kept.append(node)
            if len(read) == before:
                break
        return dataclasses.replace(
            self,
            nodes=tuple(reversed(kept)),
            inputs=tuple(given for given in self.inputs if given.name in read),
        )


def _special(given: Input, random: np.random.Generator) -> Array:
    if given.dtype == "float32":
        few = np.array([-2, -1, -0.0, 0, 1, 2], np.float32)
        return np.asarray(random.choice(few, given.shape), np.float32)
    limits = np.iinfo(given.dtype)
    ends = np.array([limits.min, limits.min + 1, 0, 1, limits.max - 1, limits.max], given.dtype)
    some = random.choice(ends, given.shape)
    if given.kind == "ties":
        return np.asarray(some, given.dtype)
    any_ = random.integers(limits.min, limits.max, given.shape, given.dtype, endpoint=True)
    return np.asarray(np.where(random.random(given.shape) < 0.3, some, any_), given.dtype)


def to_text(graphs: Iterable[Graph]) -> str:
    """Returns JSON in which each input and node has a line."""
    return "[\n" + ",\n".join(map(_graph_text, graphs)) + "\n]\n"


def _graph_text(graph: Graph) -> str:
    data = dataclasses.asdict(graph)
    lines = []
    for key, value in data.items():
        if key in ("inputs", "nodes"):
            items = ",\n   ".join(json.dumps(item) for item in value)
            lines.append(f'  "{key}": [\n   {items}\n  ]')
        else:
            lines.append(f'  "{key}": {json.dumps(value)}')
    return " {\n" + ",\n".join(lines) + "\n }"


def from_text(text: str) -> tuple[Graph, ...]:
    """Reads what to_text() wrote, perhaps with lines that begin with `#`.

    Raises:
      ValueError, KeyError, TypeError: it is something else.
    """
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return tuple(
        Graph(
            seed=data["seed"],
            int8=data["int8"],
            inputs=tuple(
                Input(**{**item, "shape": tuple(item["shape"])}) for item in data["inputs"]
            ),
            nodes=tuple(Node(**{**item, "args": tuple(item["args"])}) for item in data["nodes"]),
            outputs=tuple(data["outputs"]),
        )
        for data in json.loads("\n".join(lines))
    )
