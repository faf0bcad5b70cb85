"""Decides whether nodes are computed in f16 or in f32.

In f16, a group of registers has twice as many lanes. In f32, loads widen f16 and bf16, and stores round to them. No
instruction computes in bf16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bmc.kernels.dtypes import HALVES
from bmc.kernels.problem.product import Node, has_only_halves
from bmc.kernels.problem.roles import needed

# Operations with the same results in f16 as in f32, in which IREE computes them.
_EXACT = ("maximumf", "maxnumf", "minimumf", "minnumf", "negf")


def typed(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Returns equivalent nodes: all of them in f16 if that is exact, otherwise all computations in f32."""
    exact = needed([_exact(node, nodes) for node in nodes])
    halves = tuple(_constant(node, "f16") if _is_f16(node) else node for node in exact)
    if has_only_halves(halves):
        return halves
    return tuple(_constant(node, "f32") if node.dtype in HALVES else node for node in nodes)


def _exact(node: Node, nodes: Sequence[Node]) -> Node:
    """Returns a node in f16 for a node whose f32 result is rounded to f16, if that is exact; otherwise the node."""
    source = nodes[node.args[0]] if node.op == "truncf" else node
    if node.dtype != "f16" or source.dtype != "f32" or source.op not in _EXACT:
        return node
    args = [nodes[arg].args[0] if nodes[arg].op == "extf" else arg for arg in source.args]
    if not all(nodes[arg].dtype == "f16" or _is_f16(nodes[arg]) for arg in args):
        return node
    return Node(source.op, "f16", tuple(args))


def _is_f16(node: Node) -> bool:
    """Whether a node is a constant that f16 represents exactly."""
    if node.op != "constant" or node.dtype not in ("f16", "f32"):
        return False
    with np.errstate(over="ignore"):
        half = float(np.float16(node.value))
    return half == node.value


def _constant(node: Node, dtype: str) -> Node:
    """Returns a node, with dtype `dtype` if it is a sum or a constant."""
    return replace(node, dtype=dtype) if node.op in ("constant", "sum") else node
