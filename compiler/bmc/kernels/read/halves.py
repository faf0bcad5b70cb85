"""Decides whether values are computed in f16 or in f32.

In f16 a group of registers has twice as many lanes. In f32, what is f16 in memory is extended when it is loaded, and
rounded when it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bmc.kernels.problem.product import Node, has_only_halves
from bmc.kernels.problem.roles import needed

# Of numbers that are f16, they are the same in f32. IREE computes them there.
_EXACT = ("maximumf", "maxnumf", "minimumf", "minnumf", "negf")


def typed(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Returns nodes, of which all are f16 or none is computed in f16."""
    exact = needed([_exact(node, nodes) for node in nodes])
    halves = tuple(_constant(node, "f16") if _is_f16(node) else node for node in exact)
    if has_only_halves(halves):
        return halves
    return tuple(_constant(node, "f32") if node.dtype == "f16" else node for node in nodes)


def _exact(node: Node, nodes: Sequence[Node]) -> Node:
    """Returns the operation on f16 that an operation on f32 is, whose result is rounded."""
    source = nodes[node.args[0]] if node.op == "truncf" else node
    if node.dtype != "f16" or source.dtype != "f32" or source.op not in _EXACT:
        return node
    args = [nodes[arg].args[0] if nodes[arg].op == "extf" else arg for arg in source.args]
    if not all(nodes[arg].dtype == "f16" or _is_f16(nodes[arg]) for arg in args):
        return node
    return Node(source.op, "f16", tuple(args))


def _is_f16(node: Node) -> bool:
    """Whether a node is a constant that f16 has."""
    if node.op != "constant" or node.dtype not in ("f16", "f32"):
        return False
    with np.errstate(over="ignore"):
        half = float(np.float16(node.value))
    return half == node.value


def _constant(node: Node, dtype: str) -> Node:
    """Returns a node; sums and constants with another type."""
    return replace(node, dtype=dtype) if node.op in ("constant", "sum") else node
