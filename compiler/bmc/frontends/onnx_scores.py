"""Scores and labels of ONNX's classical models, as onnxruntime makes them (`write_scores` of its ml_common.h)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.errors import BmcError
from bmc.frontends.onnx_graph import Graph, node_name


def labels(given: dict[str, Any]) -> tuple[int, ...]:
    """Returns a classifier's labels; onnx_labels.py made numbers of names."""
    found = given.get("classlabels_int64s") or given.get("classlabels_ints") or ()
    return tuple(found)


def put(graph: Graph, node: Any, scores: str, given: dict[str, Any], name: str) -> None:
    """Gives scores [rows, classes] the name of an output, after the node's transformation.

    Raises:
      BmcError: the transformation is not known here.
    """
    _require_known(node, given)
    how = given.get("post_transform")
    if how == b"SOFTMAX":
        scores = graph.add("Softmax", (scores,), node, axis=1)
    elif how == b"LOGISTIC":
        scores = graph.add("Sigmoid", (scores,), node)
    else:
        scores = graph.add("Identity", (scores,), node)
    graph.rename(scores, name)


def _require_known(node: Any, given: dict[str, Any]) -> None:
    how = given.get("post_transform", b"NONE")
    if how not in (b"NONE", b"SOFTMAX", b"LOGISTIC"):
        raise BmcError(
            "op-rejected",
            f"op '{node.op_type}' has the post_transform '{how.decode()}', which is not known here",
            where=node_name(node),
            hint="export it with NONE, SOFTMAX or LOGISTIC",
        )


def put_one(graph: Graph, node: Any, score: str, given: dict[str, Any], positive: bool) -> None:
    """Puts in the scores of two classes, of which one is known: [rows, 1] becomes [rows, 2].

    Args:
      score: the one.
      given: the node's attributes.
      positive: whether all of the model's weights are, so that the score is a probability.
    """
    _require_known(node, given)
    how = given.get("post_transform")
    total = np.array(1 if positive and how != b"LOGISTIC" else 0, np.float32)
    other = graph.add("Sub", (total, score), node)
    both = graph.add("Concat", (other, score), node, axis=1)
    if how == b"SOFTMAX":  # onnxruntime leaves it out where there is one score.
        given = {**given, "post_transform": b"NONE"}
    put(graph, node, both, given, node.output[1])


def put_best(graph: Graph, node: Any, scores: str, classes: tuple[int, ...]) -> None:
    """Gives the label of the largest score the name of the first output; of equal ones the first counts."""
    best = graph.add("ArgMax", (scores,), node, axis=1, keepdims=0)
    graph.rename(_label(graph, node, best, classes), node.output[0])


def put_label(graph: Graph, node: Any, score: str, least: float, classes: tuple[int, ...]) -> None:
    """Gives the label of two classes the name of the first output: the second if the score is above `least`."""
    is_second = graph.add("Greater", (score, np.array(least, np.float32)), node)
    flat = graph.add("Squeeze", (is_second, np.array([1])), node)
    best = graph.add("Cast", (flat,), node, to=7)
    graph.rename(_label(graph, node, best, classes), node.output[0])


def _label(graph: Graph, node: Any, index: str, classes: tuple[int, ...]) -> str:
    if classes == tuple(range(len(classes))):
        return graph.add("Identity", (index,), node)
    return graph.add("Gather", (np.array(classes, np.int64), index), node, axis=0)
