"""Computes logarithms of sums, and hyperbolic functions, without numbers so large that they overflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bmc.frontends.onnx_graph import Graph, attributes

# From here on, x and sqrt(x * x + 1) are the same in f32; up to here, x * x overflows in no type but f16.
_LARGE = 1e4
# Up to here, x - x^3 / 6 is as exact as f32.
_SMALL = 0.05
# From here on, exp(x) overflows before half of it does.
_EXPONENTS = {"float16": 11.0, "float32": 88.0, "float64": 709.0}


def rewrite(graph: Graph, node: Any) -> bool:
    """Writes such a node with others; returns whether it did."""
    if node.op_type not in ("Acosh", "Asinh", "Cosh", "ReduceLogSumExp", "Sinh"):
        return False
    dtype = graph.dtype(node.input[0])
    if node.op_type in ("Cosh", "Sinh"):
        return _half_of_power(graph, node, dtype)
    if dtype not in (np.float32, np.float64):
        return False
    if node.op_type == "ReduceLogSumExp":
        _sum(graph, node, dtype)
    else:
        _hyperbolic(graph, node, dtype)
    return True


def _half_of_power(graph: Graph, node: Any, dtype: np.dtype[Any]) -> bool:
    """Computes exp(x) / 2 of a large x from exp(x / 2)."""
    if dtype.name not in _EXPONENTS:
        return False
    x, half = node.input[0], np.array(0.5, dtype)
    size = graph.add("Abs", [x], node)
    root = graph.add("Exp", [graph.add("Mul", [size, half], node)], node)
    large = graph.add("Mul", [graph.add("Mul", [root, half], node), root], node)
    if node.op_type == "Sinh":
        large = graph.add("Mul", [large, graph.add("Sign", [x], node)], node)
    is_large = graph.add("Greater", [size, np.array(_EXPONENTS[dtype.name], dtype)], node)
    near = graph.add(node.op_type, [x], node)
    graph.rename(graph.add("Where", [is_large, large, near], node), node.output[0])
    return True


def _sum(graph: Graph, node: Any, dtype: np.dtype[Any]) -> None:
    """Takes the largest element off before, and adds it afterwards, if it is finite."""

    def largest(**given: Any) -> str:
        found = graph.add("ReduceMax", node.input, node, **given)
        size = graph.add("Abs", [found], node)
        finite = graph.add("Less", [size, np.array(np.inf, dtype)], node)
        return graph.add("Where", [finite, found, np.zeros((), dtype)], node)

    given = attributes(node)
    away = graph.add("Sub", [node.input[0], largest(**given | {"keepdims": 1})], node)
    # Of numbers without signs. torch-mlir crashes on a ReduceLogSumExp of dimensions with one element.
    powers = graph.add("Exp", [away], node)
    total = graph.add("ReduceL1", [powers, *node.input[1:]], node, **given)
    total = graph.add("Log", [total], node)
    graph.rename(graph.add("Add", [total, largest(**given)], node), node.output[0])


def _hyperbolic(graph: Graph, node: Any, dtype: np.dtype[Any]) -> None:
    """Computes log(2 * x) of a large x, and the inverse sine of a negative number from its size."""
    x = node.input[0]
    is_sine = node.op_type == "Asinh"
    size = graph.add("Abs", [x], node) if is_sine else x
    square = graph.add("Mul", [size, size], node)
    below = graph.add("Add", [square, np.array(1 if is_sine else -1, dtype)], node)
    near = graph.add("Add", [size, graph.add("Sqrt", [below], node)], node)
    is_large = graph.add("Greater", [size, np.array(_LARGE, dtype)], node)
    logs = [graph.add("Log", [each], node) for each in (size, near)]
    logs[0] = graph.add("Add", [logs[0], np.array(math.log(2), dtype)], node)
    result = graph.add("Where", [is_large, *logs], node)
    if is_sine:
        opposite = graph.add("Neg", [result], node)
        is_negative = graph.add("Less", [x, np.zeros((), dtype)], node)
        result = graph.add("Where", [is_negative, opposite, result], node)
        cube = graph.add("Mul", [graph.add("Mul", [square, x], node), np.array(1 / 6, dtype)], node)
        near = graph.add("Sub", [x, cube], node)
        is_small = graph.add("Less", [size, np.array(_SMALL, dtype)], node)
        result = graph.add("Where", [is_small, near, result], node)
    graph.rename(result, node.output[0])
