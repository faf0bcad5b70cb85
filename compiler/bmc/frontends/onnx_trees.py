"""Lowers ONNX's TreeEnsembleRegressor and TreeEnsembleClassifier to tables that all trees walk at once.

A node is a row of four tables: the feature that it compares, its threshold, and the rows of its two children. A leaf is
its own child, so after as many steps as the deepest tree has, every tree is at a leaf, whose weights are a row of a
fifth table. Scores and labels are those of onnxruntime's `TreeAggregator`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import onnx_scores
from bmc.frontends.onnx_graph import Graph, attributes, node_name

# How a comparison becomes "at most": whether the threshold moves down by one step, and whether the children change
# places. A number that is none is neither.
_MODES = {
    b"BRANCH_LEQ": (False, False),
    b"BRANCH_LT": (True, False),
    b"BRANCH_GT": (False, True),
    b"BRANCH_GTE": (True, True),
}


@dataclass(frozen=True, slots=True)
class _Tables:
    """Rows of all nodes; `missing` says where a number that is none goes to the first child."""

    features: Array
    thresholds: Array
    first: Array
    second: Array
    missing: Array
    weights: Array
    roots: Array
    depth: int


def rewrite(graph: Graph, node: Any, value: str, rows: int) -> None:
    """Replaces a node that reads f32 `value` [rows, features].

    Raises:
      BmcError: the trees compare in a way that is not known here.
    """
    given = attributes(node)
    is_classifier = node.op_type == "TreeEnsembleClassifier"
    kind = "class" if is_classifier else "target"
    labels = onnx_scores.labels(given) if is_classifier else ()
    count = len(labels) if is_classifier else given.get("n_targets", 1)
    tables = _tables(node, given, kind, count)
    leaves = _walk(graph, node, value, rows, tables)
    found = graph.add("Gather", (tables.weights, leaves), node, axis=0)
    scores = _together(graph, node, found, given, len(tables.roots))
    base = np.array(given.get("base_values", ()), np.float32)
    if is_classifier and count == 2:
        _binary(graph, node, scores, given, labels, base)
        return
    if base.size:
        scores = graph.add("Add", (scores, base), node)
    if is_classifier:
        onnx_scores.put_best(graph, node, scores, labels)
    onnx_scores.put(graph, node, scores, given, node.output[-1])


def _tables(node: Any, given: dict[str, Any], kind: str, count: int) -> _Tables:
    if "nodes_values" not in given:
        raise _refused(node, "keeps its thresholds in f64", "export it in f32")
    keys = list(zip(given["nodes_treeids"], given["nodes_nodeids"], strict=True))
    rows = {key: row for row, key in enumerate(keys)}
    number = len(keys)
    first, second = np.arange(number, dtype=np.int32), np.arange(number, dtype=np.int32)
    thresholds = np.array(given["nodes_values"], np.float32)
    missing = np.array(given.get("nodes_missing_value_tracks_true", ()) or [0] * number, bool)
    for row, (tree, mode) in enumerate(
        zip(given["nodes_treeids"], given["nodes_modes"], strict=True)
    ):
        if mode == b"LEAF":
            continue
        if mode not in _MODES:
            raise _refused(node, f"compares by '{mode.decode()}'", "export it without categories")
        moves, swaps = _MODES[mode]
        if moves:
            thresholds[row] = np.nextafter(thresholds[row], np.float32(-np.inf))
        children = [rows[tree, given[f"nodes_{side}nodeids"][row]] for side in ("true", "false")]
        first[row], second[row] = children[::-1] if swaps else children
        missing[row] ^= swaps
    weights = np.zeros((number, count), np.float32)
    for tree, leaf, index, weight in zip(
        *(given[f"{kind}_{part}"] for part in ("treeids", "nodeids", "ids", "weights")), strict=True
    ):
        weights[rows[tree, leaf], index] += np.float32(weight)
    children_of = set(first[first != np.arange(number)]) | set(second[second != np.arange(number)])
    roots = np.array([row for row in range(number) if row not in children_of], np.int32)
    features = np.array(given["nodes_featureids"], np.int32)
    depth = _depth(first, second, roots)
    return _Tables(features, thresholds, first, second, missing, weights, roots, depth)


def _depth(first: Array, second: Array, roots: Array) -> int:
    level, depth = set(roots.tolist()), 0
    while True:
        level = {child for row in level for child in (first[row], second[row]) if child != row}
        if not level:
            return depth
        depth += 1


def _walk(graph: Graph, node: Any, value: str, rows: int, tables: _Tables) -> str:
    """Returns the leaf of each row and tree, [rows, trees]."""
    at = graph.initializer(np.tile(tables.roots, (rows, 1)), node)
    columns = [
        graph.initializer(table, node)
        for table in (tables.features, tables.thresholds, tables.first, tables.second)
    ]
    # Only then does a number that is none need a test of its own.
    missing = graph.initializer(tables.missing, node) if tables.missing.any() else ""
    for _ in range(tables.depth):
        feature, threshold, first, second = (
            graph.add("Gather", (column, at), node, axis=0) for column in columns
        )
        number = graph.add("GatherElements", (value, feature), node, axis=1)
        goes = graph.add("LessOrEqual", (number, threshold), node)
        if missing:
            is_none = graph.add("IsNaN", (number,), node)
            tracks = graph.add("Gather", (missing, at), node, axis=0)
            goes = graph.add("Or", (goes, graph.add("And", (is_none, tracks), node)), node)
        at = graph.add("Where", (goes, first, second), node)
    return at


def _together(graph: Graph, node: Any, found: str, given: dict[str, Any], trees: int) -> str:
    """Returns the scores [rows, targets] of weights [rows, trees, targets]."""
    how = given.get("aggregate_function", b"SUM")
    op = {b"SUM": "ReduceSum", b"AVERAGE": "ReduceSum", b"MIN": "ReduceMin", b"MAX": "ReduceMax"}[
        how
    ]
    if op == "ReduceSum":
        scores = graph.add(op, (found, np.array([1])), node, keepdims=0)
    else:
        scores = graph.add(op, (found,), node, axes=[1], keepdims=0)
    if how == b"AVERAGE":
        scores = graph.add("Div", (scores, np.array(trees, np.float32)), node)
    return scores


def _binary(
    graph: Graph,
    node: Any,
    scores: str,
    given: dict[str, Any],
    labels: tuple[int, ...],
    base: Array,
) -> None:
    """Puts in the label and the scores of two classes, of which a file may give the weights of one only."""
    ids = set(given["class_ids"])
    columns = [graph.add("Gather", (scores, np.array([index])), node, axis=1) for index in (0, 1)]
    has_second = 1 in ids
    if base.size == 2 and has_second:
        columns[1] = graph.add("Add", (columns[0], base[1:]), node)
        columns[0] = graph.add("Neg", (columns[1],), node)
    elif base.size == 2:
        columns[0] = graph.add("Add", (columns[0], base[:1]), node)
    elif base.size == 1:
        columns[0] = graph.add("Add", (columns[0], base), node)
    deciding = columns[1] if has_second else columns[0]
    positive = all(weight >= 0 for weight in given["class_weights"])
    least = 0.5 if positive and len(ids) == 1 else 0.0
    onnx_scores.put_label(graph, node, deciding, least, labels)
    if has_second or base.size == 2:
        both = graph.add("Concat", columns, node, axis=1)
        onnx_scores.put(graph, node, both, given, node.output[1])
    else:
        onnx_scores.put_one(graph, node, columns[0], given, positive)


def _refused(node: Any, what: str, hint: str) -> BmcError:
    return BmcError(
        "op-rejected",
        f"op '{node.op_type}' {what}, which is not known here",
        where=node_name(node),
        hint=hint,
    )
