"""A random model as a PyTorch module."""

from __future__ import annotations

import math
from typing import Any

import elementwise
import indexed
import loops
import tensors
import torch
import windows
from graph import Graph, Node
from op import Call, Op

OPS: dict[str, Op] = {
    **windows.CONVOLUTIONS,
    **windows.OPS,
    **elementwise.OPS,
    **elementwise.INTEGER_OPS,
    **tensors.PRODUCTS,
    **tensors.MOVES,
    **tensors.OPS,
    **indexed.AT_INDICES,
    **indexed.OPS,
    **loops.OPS,
}


class Program(torch.nn.Module):
    """Maps the arguments and then the states to (outputs, new states).

    Weights come into being in the first call, because their shapes follow from those of the inputs.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.eval()

    def forward(self, *given: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        inputs = (*self.graph.arguments, *self.graph.states)
        values = {item.name: tensor for item, tensor in zip(inputs, given, strict=True)}
        for node in self.graph.nodes:
            values[node.name] = self.apply(node, values)
        return (
            tuple(values[name] for name in self.graph.outputs),
            tuple(values[state.becomes] for state in self.graph.states),
        )

    def apply(self, node: Node, values: dict[str, Any]) -> Any:
        """Returns the value of one node; raises what PyTorch raises if its operands do not fit."""

        def weight(number: int, shape: tuple[int, ...], terms: int = 1) -> Any:
            name = f"{node.name}_{number}"
            if not hasattr(self, name):
                scale = node.attrs.get("weight_scale", 1.0) / math.sqrt(terms)
                array = self.graph.random(name).standard_normal(shape) * scale
                self.register_buffer(name, torch.tensor(array, dtype=torch.float32))
            return getattr(self, name)

        args = tuple(values[name] for name in node.args)
        return OPS[node.op].apply(Call(args, node.attrs, weight))

    def initial(self) -> tuple[Any, ...]:
        """The states before the first call."""
        return tuple(torch.from_numpy(self.graph.data(state, 0)) for state in self.graph.states)

    def inputs(self, number: int) -> tuple[Any, ...]:
        """The arguments of call `number`."""
        return tuple(
            torch.from_numpy(self.graph.data(given, number)) for given in self.graph.arguments
        )
