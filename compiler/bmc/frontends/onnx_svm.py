"""Lowers ONNX's SVMClassifier and SVMRegressor: kernels of the support vectors, and votes of pairs of classes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import onnx_scores
from bmc.frontends.onnx_graph import Graph, attributes, node_name

_MOST_FACTORS = 8


def rewrite(graph: Graph, node: Any, value: str) -> None:
    """Replaces a node that reads f32 `value` [rows, features].

    Raises:
      BmcError: it computes probabilities, for which onnxruntime iterates, or has no support vectors.
    """
    given = attributes(node)
    is_classifier = node.op_type == "SVMClassifier"
    count = sum(given["vectors_per_class"]) if is_classifier else given.get("n_supports", 0)
    if given.get("prob_a") or (is_classifier and not count):
        what = "computes probabilities" if given.get("prob_a") else "has no support vectors"
        raise BmcError(
            "op-rejected",
            f"op '{node.op_type}' {what}, which is not known here",
            where=node_name(node),
            hint="train it with probability=False, or export a linear model",
        )
    kernels = value
    if count:
        vectors = np.array(given["support_vectors"], np.float32).reshape(count, -1)
        kernels = _kernels(graph, node, value, vectors, given)
    rho = np.array(given["rho"], np.float32)
    coefficients = np.array(given["coefficients"], np.float32)
    if is_classifier:
        _classify(graph, node, kernels, coefficients.reshape(-1, count), rho)
        return
    sums = graph.add("MatMul", (kernels, coefficients.reshape(-1, 1)), node)
    sums = graph.add("Add", (sums, rho[:1]), node)
    if given.get("one_class"):
        inside = graph.add("Greater", (sums, np.array(0, np.float32)), node)
        signs = [np.array(sign, np.float32) for sign in (1, -1)]
        sums = graph.add("Where", (inside, *signs), node)
    onnx_scores.put(graph, node, sums, given, node.output[0])


def _kernels(graph: Graph, node: Any, value: str, vectors: Array, given: dict[str, Any]) -> str:
    """Returns the kernel of each row and support vector."""
    gamma, offset, degree = (
        np.array(number, np.float32) for number in given.get("kernel_params") or (0, 0, 3)
    )
    kind = given.get("kernel_type", b"LINEAR")
    if kind == b"RBF":
        wide = graph.add("Unsqueeze", (value, np.array([1])), node)
        apart = graph.add("Sub", (wide, vectors[None]), node)
        squares = graph.add("Mul", (apart, apart), node)
        sums = graph.add("ReduceSum", (squares, np.array([2])), node, keepdims=0)
        return graph.add("Exp", (graph.add("Mul", (sums, -gamma), node),), node)
    product = graph.add("MatMul", (value, vectors.T.copy()), node)
    if kind == b"LINEAR":
        return product
    product = graph.add("Add", (graph.add("Mul", (product, gamma), node), offset), node)
    if kind == b"SIGMOID":
        return graph.add("Tanh", (product,), node)
    if degree != np.round(degree) or not 1 <= degree <= _MOST_FACTORS:
        return graph.add("Pow", (product, degree), node)
    power = product  # A power that is multiplied out rounds least.
    for _ in range(int(degree) - 1):
        power = graph.add("Mul", (power, product), node)
    return power


def _classify(graph: Graph, node: Any, kernels: str, coefficients: Array, rho: Array) -> None:
    """Puts in the label with the most votes, and the scores of all pairs of classes."""
    given = attributes(node)
    sizes = given["vectors_per_class"]
    starts = [0, *itertools.accumulate(sizes)]
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    weights = np.zeros((starts[-1], len(pairs)), np.float32)
    wins, losses = (np.zeros((len(pairs), len(sizes)), np.float32) for _ in range(2))
    for number, (i, j) in enumerate(pairs):
        first, second = (slice(starts[k], starts[k + 1]) for k in (i, j))
        weights[first, number] = coefficients[j - 1, first]
        weights[second, number] = coefficients[i, second]
        wins[number, i] = losses[number, j] = 1
    sums = graph.add("MatMul", (kernels, weights), node)
    scores = graph.add("Add", (sums, rho[: len(pairs)]), node)
    above = graph.add("Greater", (scores, np.array(0, np.float32)), node)
    won = graph.add("Cast", (above,), node, to=1)
    votes = graph.add("MatMul", (won, wins - losses), node)
    votes = graph.add("Add", (votes, losses.sum(0)), node)
    onnx_scores.put_best(graph, node, votes, onnx_scores.labels(given))
    if len(pairs) == 1:
        onnx_scores.put_one(graph, node, scores, given, False)
    else:
        onnx_scores.put(graph, node, scores, given, node.output[1])
