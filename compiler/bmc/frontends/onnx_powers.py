"""Multiplies powers of integers out, and gives floats' powers of integers the base's sign where the power is odd.

IREE's importer computes both in f64, which becomes f32 in the firmware: it has neither all integers nor all exponents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends.onnx_graph import Graph, node_name

_INTEGERS = (np.int32, np.int64)


def rewrite(graph: Graph, node: Any) -> bool:
    """Writes a Pow whose exponents are integers of 32 or 64 bits with other nodes; returns whether it did.

    Raises:
      BmcError: the exponents of integers are floats that are not known to be whole numbers.
    """
    base, exponent = map(graph.dtype, node.input)
    if base in _INTEGERS and exponent.kind == "f":
        _take_integers(graph, node, base)
        exponent = base
    if exponent not in _INTEGERS:
        return False
    if base in _INTEGERS:
        _multiply(graph, node, base)
    elif base.kind == "f":
        _sign(graph, node, base)
    else:
        return False
    return True


def _take_integers(graph: Graph, node: Any, dtype: np.dtype[Any]) -> None:
    """Gives a Pow of integers exponents of their type."""
    exponents = graph.constant(node.input[1])
    if exponents is None or not np.array_equal(exponents, np.rint(exponents)):
        raise BmcError(
            "op-rejected",
            "op 'Pow' of integers has exponents that are floats, and IREE rounds otherwise than onnxruntime",
            where=node_name(node),
            hint="give it exponents that are integers, or a base of floats",
        )
    node.input[1] = graph.initializer(exponents.astype(dtype), node)


def _is_odd(graph: Graph, node: Any, value: str, dtype: np.dtype[Any]) -> str:
    rest = graph.add("Mod", [value, np.array(2, dtype)], node)  # with the sign of 2
    return graph.add("Equal", [rest, np.array(1, dtype)], node)


def _multiply(graph: Graph, node: Any, dtype: np.dtype[Any]) -> None:
    """Squares the base once for each bit of its exponent that does not only overflow."""
    base, exponent = node.input
    if graph.dtype(exponent) != dtype:
        exponent = graph.add("Cast", [exponent], node, to=graph.element(base))
    zero, one = (np.array(number, dtype) for number in (0, 1))
    rest, square = graph.add("Abs", [exponent], node), base
    power: str | Array = one
    bits = 5 if dtype == np.int32 else 6
    for bit in range(bits):
        odd = _is_odd(graph, node, rest, dtype)
        product = graph.add("Mul", [power, square], node)
        power = graph.add("Where", [odd, product, power], node)
        if bit < bits - 1:
            rest = graph.add("Div", [rest, np.array(2, dtype)], node)
            square = graph.add("Mul", [square, square], node)
    # The reciprocal of a whole number is none but for 1 and -1; zero has no odd power of another bit.
    is_reciprocal = graph.add("Less", [exponent, zero], node)
    size = graph.add("Abs", [base], node)
    vanishes = graph.add("And", [is_reciprocal, graph.add("Greater", [size, one], node)], node)
    is_zero = graph.add("Equal", [base, zero], node)
    is_first = graph.add("Equal", [exponent, zero], node)
    zeros = graph.add("And", [is_zero, graph.add("Not", [is_first], node)], node)
    vanishes = graph.add("Or", [vanishes, zeros], node)
    graph.rename(graph.add("Where", [vanishes, zero, power], node), node.output[0])


def _sign(graph: Graph, node: Any, dtype: np.dtype[Any]) -> None:
    base, exponent = node.input
    odd = _is_odd(graph, node, exponent, graph.dtype(exponent))
    size = graph.add("Abs", [base], node)
    power = graph.add(
        "Pow", [size, graph.add("Cast", [exponent], node, to=graph.element(base))], node
    )
    # A zero may have a sign, too, which its reciprocal shows.
    reciprocal = graph.add("Div", [np.array(1, dtype), base], node)
    signs = [graph.add("Less", [each, np.array(0, dtype)], node) for each in (base, reciprocal)]
    negative = graph.add("And", [odd, graph.add("Or", signs, node)], node)
    opposite = graph.add("Neg", [power], node)
    graph.rename(graph.add("Where", [negative, opposite, power], node), node.output[0])
