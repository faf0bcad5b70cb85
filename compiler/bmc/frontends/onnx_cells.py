"""The steps of a recurrent layer of ONNX, as the standard defines them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import onnx_loops
from bmc.frontends.onnx_graph import Graph, attributes, node_name

# The op of an activation, and its attributes.
Function = tuple[str, dict[str, float]]
# The places of a layer's inputs.
WEIGHT, RECURRENT, BIAS, LENGTHS, HIDDEN, CELL, PEEPHOLES = range(1, 8)
_USUAL = {
    "GRU": (b"Sigmoid", b"Tanh"),
    "LSTM": (b"Sigmoid", b"Tanh", b"Tanh"),
    "RNN": (b"Tanh",),
}
# The attributes of activations.
_ACTIVATIONS: dict[bytes, tuple[str, ...]] = {
    b"Elu": ("alpha",),
    b"HardSigmoid": ("alpha", "beta"),
    b"LeakyRelu": ("alpha",),
    b"Relu": (),
    b"Sigmoid": (),
    b"Softplus": (),
    b"Tanh": (),
    b"ThresholdedRelu": ("alpha",),
}


def given_input(node: Any, place: int) -> str:
    """Returns the name of an input, "" if the layer has none."""
    return str(node.input[place]) if len(node.input) > place else ""


def steps(graph: Graph, layer: Any, shape: tuple[int, ...], functions: list[Function]) -> list[str]:
    """Returns all hidden states [steps, 1, batch, size], the last one [1, batch, size] and an LSTM's last cell state.

    Args:
      graph: gets the loop.
      layer: a node of one direction, forwards.
      shape: how many steps, sequences and numbers of a state there are.
      functions: the activations of this direction.
    """
    count, batch, size = shape
    return _Layer(graph, layer, count, batch, size, functions).steps()


def activations(layer: Any, directions: int) -> list[Function]:
    """Returns the activations of all directions, whose attributes stand in lists for those that have any.

    Raises:
      BmcError: no op of ONNX computes one.
    """
    given = attributes(layer)
    left = {key: list(given.get(f"activation_{key}", ())) for key in ("alpha", "beta")}
    found: list[Function] = []
    for name in given.get("activations") or _USUAL[layer.op_type] * directions:
        keys = _ACTIVATIONS.get(name)
        if keys is None:
            raise BmcError(
                "op-rejected",
                f"op '{layer.op_type}' has activation '{name.decode(errors='replace')}', which is not known",
                where=node_name(layer),
                hint="export the layer without it, or write its steps with other ops",
            )
        found.append((name.decode(), {key: left[key].pop(0) for key in keys if left[key]}))
    return found


@dataclass(frozen=True)
class _Layer:
    graph: Graph
    node: Any
    count: int
    batch: int
    size: int
    functions: list[Function]

    def steps(self) -> list[str]:
        kind = self.node.op_type
        weight, recurrent = (self._turned(self.node.input[i]) for i in (WEIGHT, RECURRENT))
        gates = self._do("MatMul", self.node.input[0], weight)
        biases = self._biases()
        if biases:
            gates = self._do("Add", gates, biases[0])
        state = (self.batch, self.size)
        states = [(self._state(place), state) for place in (HIDDEN, CELL)[: 1 + (kind == "LSTM")]]
        cell: Callable[[str, str, list[str]], list[str]] = {
            "GRU": lambda row, product, now: self._gru(row, product, now, recurrent, biases),
            "LSTM": lambda row, product, now: self._lstm(row, product, now),
            "RNN": lambda row, product, now: [self._active(0, self._do("Add", row, product))],
        }[kind]

        def step(number: str, now: list[str]) -> tuple[str, list[str]]:
            row = self.graph.add("Gather", (gates, number), self.node, axis=0)
            following = cell(row, self._do("MatMul", now[0], recurrent), now)
            return self._within(number, now, following)

        # Every row is overwritten. Zeros would be a weight.
        first = self._cut(gates, 0, axis=2)
        rows = (first, (self.count, *state))
        every, *last = onnx_loops.over_steps(self.graph, self.node, rows, states, step)
        return [
            self._do("Unsqueeze", every, np.array([1])),
            *(self._do("Unsqueeze", name, np.array([0])) for name in last),
        ]

    def _within(self, number: str, now: list[str], following: list[str]) -> tuple[str, list[str]]:
        """Returns the row and the states of a step, keeping states behind the end of a sequence. Rows are 0 there."""
        name = given_input(self.node, LENGTHS)
        if not name:
            return following[0], following
        lengths = self._do("Cast", name, to=7)
        lengths = self._do("Reshape", lengths, np.array([self.batch, 1]))
        inside = self._do("Less", number, lengths)
        row = self._do("Where", inside, following[0], np.array(0, np.float32))
        kept = [self._do("Where", inside, *pair) for pair in zip(following, now, strict=True)]
        return row, kept

    def _gru(
        self, row: str, product: str, now: list[str], recurrent: str, biases: list[Array | str]
    ) -> list[str]:
        (before,) = now
        both = [self._do("Add", self._cut(row, i), self._cut(product, i)) for i in (0, 1)]
        update, reset = (self._active(0, each) for each in both)
        if attributes(self.node).get("linear_before_reset"):
            inner = self._cut(product, 2)
            if biases:
                inner = self._do("Add", inner, biases[1])
            inner = self._do("Mul", reset, inner)
        else:
            inner = self._do("MatMul", self._do("Mul", reset, before), self._cut(recurrent, 2))
        new = self._active(1, self._do("Add", self._cut(row, 2), inner))
        rest = self._do("Sub", np.array(1, np.float32), update)
        return [self._do("Add", self._do("Mul", rest, new), self._do("Mul", update, before))]

    def _lstm(self, row: str, product: str, now: list[str]) -> list[str]:
        before = now[1]
        enters, leaves, stays, new = (
            self._do("Add", self._cut(row, i), self._cut(product, i)) for i in range(4)
        )
        enters = self._active(0, self._peep(enters, before, 0))
        if attributes(self.node).get("input_forget"):
            stays = self._do("Sub", np.array(1, np.float32), enters)
        else:
            stays = self._active(0, self._peep(stays, before, 2))
        new = self._do("Mul", enters, self._active(1, new))
        cell = self._do("Add", self._do("Mul", stays, before), new)
        leaves = self._active(0, self._peep(leaves, cell, 1))
        function, given = self.functions[2]
        bent = self._do(function, cell, **given)
        return [self._do("Mul", leaves, bent), cell]

    def _peep(self, gate: str, cell: str, place: int) -> str:
        """Adds what a gate sees of a cell state."""
        name = given_input(self.node, PEEPHOLES)
        if not name:
            return gate
        return self._do("Add", gate, self._do("Mul", cell, self._cut(name, place)))

    def _active(self, number: int, value: str) -> str:
        clip = attributes(self.node).get("clip")
        if clip:
            value = self._do("Clip", value, np.array(-clip, np.float32), np.array(clip, np.float32))
        function, given = self.functions[number]
        return self._do(function, value, **given)

    def _biases(self) -> list[Array | str]:
        """Returns what is added to the products of inputs, and what a GRU adds to a product that it resets."""
        name = given_input(self.node, BIAS)
        if not name:
            return []
        halves = self._do("Reshape", name, np.array([2, -1]))
        own, other = (self.graph.add("Gather", (halves, np.array(i)), self.node) for i in (0, 1))
        if self.node.op_type != "GRU" or not attributes(self.node).get("linear_before_reset"):
            return [self._do("Add", own, other)]
        kept = np.repeat(np.array([1, 1, 0], np.float32), self.size)
        return [self._do("Add", own, self._do("Mul", other, kept)), self._cut(other, 2, axis=0)]

    def _state(self, place: int) -> str:
        shape = np.array([self.batch, self.size])
        if name := given_input(self.node, place):
            return self._do("Reshape", name, shape)
        return self._do("ConstantOfShape", shape)

    def _turned(self, name: str) -> str:
        """Returns a matrix [1, rows, columns] by its columns."""
        found = self.graph.constant(name)
        if found is not None:  # Turned here, it stays a weight.
            return self._do("Identity", found[0].T.copy())
        matrix = self._do("Squeeze", name, np.array([0]))
        return self.graph.add("Transpose", (matrix,), self.node, perm=[1, 0])

    def _cut(self, value: str, number: int, axis: int = 1) -> str:
        """Returns the part of one gate."""
        bounds = (number * self.size, (number + 1) * self.size, axis)
        return self._do("Slice", value, *(np.array([bound]) for bound in bounds))

    def _do(self, kind: str, *inputs: str | Array, **given: Any) -> str:
        return self.graph.add(kind, inputs, self.node, **given)
