"""The nodes of an epilogue, while they are read."""

from __future__ import annotations

from bmc.kernels.dtypes import HALVES
from bmc.kernels.problem.product import Node


class Nodes:
    """Collects nodes. All of them have 32 bits: loads widen, and stores truncate."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def node(self, node: Node) -> int:
        """Adds a node; returns its number."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def constant(self, value: int) -> int:
        """Adds an int32 constant; returns its number."""
        signed = (value + 2**31) % 2**32 - 2**31
        return self.node(Node("constant", "i32", value=signed))

    def integer(self, op: str, *args: int) -> int:
        """Adds an int32 operation; returns its number."""
        return self.node(Node(op, "i32", args))

    def number(self, value: float) -> int:
        """Adds an f32 constant; returns its number."""
        return self.node(Node("constant", "f32", value=value))

    def float_(self, op: str, *args: int) -> int:
        """Adds a float operation, in the dtype of its first argument; returns its number."""
        found = self.nodes[args[0]].dtype
        dtype = found if found in HALVES else "f32"
        return self.node(Node(op, dtype, args))
