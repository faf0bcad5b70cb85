"""Finds results that are rounded, moved by a zero point, and limited to what an int8 can be.

Instructions that narrow with saturation do most of that.
"""

from __future__ import annotations

from bmc.kernels.problem.product import Node

_LOW, _HIGH = -128, 127
_LIMITS = {"maxsi": max, "minsi": min}
_SMALL = {"mulhi", "fixed_multiply"}


def clipped(nodes: list[Node]) -> list[Node]:
    """Replaces the last node if it is such a result; otherwise returns the nodes as they are."""
    last = nodes[-1]
    if last.op != "trunci" or last.dtype != "i8":
        return nodes
    number = last.args[0]
    limits: list[tuple[str, int]] = []
    while nodes[number].op in _LIMITS and (found := _constant(nodes, number)):
        limits.append((nodes[number].op, found[1]))
        number = found[0]
    low, high = -(2**31), 2**31 - 1
    for op, limit in reversed(limits):
        low, high = _LIMITS[op](low, limit), _LIMITS[op](high, limit)
    zero = 0
    if nodes[number].op == "addi" and (found := _constant(nodes, number)):
        number, zero = found
    if (
        nodes[number].op != "rounding_shift"
        or not _is_small(nodes, nodes[number].args[0])
        or low < _LOW
        or high > _HIGH
        or not -(2**15) <= zero < 2**15
    ):
        return nodes
    first = len(nodes) - 1
    constants = [Node("constant", "i32", value=value) for value in (zero, low, high)]
    args = (*nodes[number].args, *range(first, first + len(constants)))
    return [*nodes[:-1], *constants, Node("requantize", "i8", args)]


def _constant(nodes: list[Node], number: int) -> tuple[int, int] | None:
    """Returns the other argument of an operation with a constant, and the constant; None if it has none."""
    for one, other in (nodes[number].args, nodes[number].args[::-1]):
        if nodes[other].op == "constant" and nodes[one].op != "constant":
            return one, int(nodes[other].value)
    return None


def _is_small(nodes: list[Node], number: int) -> bool:
    """Whether a value has at most 30 bits and a sign, or is less by one: no zero point makes it wrap around."""
    node = nodes[number]
    if node.op == "addi":
        return any(
            nodes[one].op in _SMALL and _is_sign(nodes, other)
            for one, other in (node.args, node.args[::-1])
        )
    return node.op in _SMALL


def _is_sign(nodes: list[Node], number: int) -> bool:
    """Whether a value is -1 or 0."""
    found = _constant(nodes, number) if nodes[number].op == "shrsi" else None
    return found is not None and found[1] == 31
