"""Finds results that are shifted with rounding, offset by a zero point, and clamped to int8.

They become a requantize node, for which there are instructions that narrow with saturation.
"""

from __future__ import annotations

from bmc.kernels.problem.product import Node

_LOW, _HIGH = -128, 127
_LIMITS = {"maxsi": max, "minsi": min}
_SMALL = {"mulhi", "fixed_multiply"}


def with_requantize(nodes: list[Node]) -> list[Node]:
    """Returns the nodes with a requantize in place of the last one, if that matches; otherwise the same nodes."""
    last = nodes[-1]
    if last.op != "trunci" or last.dtype != "i8":
        return nodes
    number = last.args[0]
    limits: list[tuple[str, int]] = []
    while nodes[number].op in _LIMITS and (match := _constant(nodes, number)):
        limits.append((nodes[number].op, match[1]))
        number = match[0]
    low, high = -(2**31), 2**31 - 1
    for op, limit in reversed(limits):
        low, high = _LIMITS[op](low, limit), _LIMITS[op](high, limit)
    zero = 0
    if nodes[number].op == "addi" and (match := _constant(nodes, number)):
        number, zero = match
    if (
        nodes[number].op != "rounding_shift"
        or not _cannot_wrap(nodes, nodes[number].args[0])
        or low < _LOW
        or high > _HIGH
        or not -(2**15) <= zero < 2**15
    ):
        return nodes
    first_constant = len(nodes) - 1
    constants = [Node("constant", "i32", value=value) for value in (zero, low, high)]
    args = (*nodes[number].args, *range(first_constant, first_constant + len(constants)))
    return [*nodes[:-1], *constants, Node("requantize", "i8", args)]


def _constant(nodes: list[Node], number: int) -> tuple[int, int] | None:
    """Returns the non-constant argument of a node and its constant one; None unless it has one of each."""
    for arg, constant in (nodes[number].args, nodes[number].args[::-1]):
        if nodes[constant].op == "constant" and nodes[arg].op != "constant":
            return arg, int(nodes[constant].value)
    return None


def _cannot_wrap(nodes: list[Node], number: int) -> bool:
    """Whether a value is so small that adding a zero point does not wrap: 31 signed bits, or one less than those."""
    node = nodes[number]
    if node.op == "addi":
        return any(
            nodes[product].op in _SMALL and _is_sign(nodes, sign)
            for product, sign in (node.args, node.args[::-1])
        )
    return node.op in _SMALL


def _is_sign(nodes: list[Node], number: int) -> bool:
    """Whether a value is -1 or 0."""
    match = _constant(nodes, number) if nodes[number].op == "shrsi" else None
    return match is not None and match[1] == 31
