"""Lowers the classical models of ONNX's ai.onnx.ml to ordinary ops: linear ones, support vectors, trees, preparation.

They compute what onnxruntime's kernels do, in f32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import onnx_scores, onnx_svm, onnx_trees
from bmc.frontends.onnx_graph import Graph, attributes

_FLOAT, _INT64 = 1, 7


def apply(model: Any) -> bool:
    """Changes a ModelProto, whose shapes have to be inferred again; returns whether it did.

    Raises:
      BmcError: a model has an attribute that is not known here.
    """
    graph = Graph(model.graph)
    changed = False
    for node in list(graph.proto.node):
        lower = _LOWER.get(node.op_type) if node.domain == "ai.onnx.ml" else None
        # A node behind another waits until ONNX has inferred what the other returns. A LabelEncoder cannot: where a
        # type is unknown, ONNX crashes on it.
        is_ready = lower is _label_encoder or (lower and graph.shape(node.input[0]) is not None)
        if lower and is_ready and lower(graph, node):
            changed = True
        else:
            graph.nodes.append(node)
    graph.finish()
    return changed


def _floats(graph: Graph, node: Any) -> str:
    """Returns the node's input as f32."""
    name: str = node.input[0]
    if graph.element(name) == _FLOAT:
        return name
    return graph.add("Cast", (name,), node, to=_FLOAT)


def _shape(graph: Graph, node: Any) -> tuple[int, ...]:
    """Returns the shape of the node's input, which apply() has waited for."""
    return graph.shape(node.input[0]) or ()


def _of(given: dict[str, Any], key: str) -> Array:
    return np.array(given.get(key, ()), np.float32)


def _feature_extractor(graph: Graph, node: Any) -> bool:
    value = node.input[0]
    if len(_shape(graph, node)) == 1:
        value = graph.add("Unsqueeze", (value, np.array([0])), node)
    places = graph.add("Reshape", (node.input[1], np.array([-1])), node)
    graph.rename(graph.add("Gather", (value, places), node, axis=-1), node.output[0])
    return True


def _scaler(graph: Graph, node: Any) -> bool:
    given = attributes(node)
    moved = graph.add("Sub", (_floats(graph, node), _of(given, "offset")), node)
    graph.rename(graph.add("Mul", (moved, _of(given, "scale")), node), node.output[0])
    return True


def _normalizer(graph: Graph, node: Any) -> bool:
    value = _floats(graph, node)
    norm = attributes(node).get("norm", b"MAX")
    if norm == b"MAX":
        size = graph.add("ReduceMax", (value,), node, axes=[-1], keepdims=1)
    elif norm == b"L1":
        absolute = graph.add("Abs", (value,), node)
        size = graph.add("ReduceSum", (absolute, np.array([-1])), node, keepdims=1)
    else:
        squares = graph.add("Mul", (value, value), node)
        size = graph.add("Sqrt", (graph.add("ReduceSum", (squares, np.array([-1])), node),), node)
    is_zero = graph.add("Equal", (size, np.array(0, np.float32)), node)
    size = graph.add("Where", (is_zero, np.array(1, np.float32), size), node)
    graph.rename(graph.add("Div", (value, size), node), node.output[0])
    return True


def _imputer(graph: Graph, node: Any) -> bool:
    given = attributes(node)
    if graph.element(node.input[0]) == _INT64:
        values = np.array(given["imputed_value_int64s"], np.int64)
        replaced = np.array(given.get("replaced_value_int64", 0), np.int64)
    else:
        values = _of(given, "imputed_value_floats")
        replaced = np.array(given.get("replaced_value_float", 0.0), np.float32)
    value = node.input[0]
    if np.isnan(replaced):
        is_missing = graph.add("IsNaN", (value,), node)
    else:
        is_missing = graph.add("Equal", (value, replaced), node)
    graph.rename(graph.add("Where", (is_missing, values, value), node), node.output[0])
    return True


def _binarizer(graph: Graph, node: Any) -> bool:
    least = np.array(attributes(node).get("threshold", 0.0), np.float32)
    above = graph.add("Greater", (_floats(graph, node), least), node)
    graph.rename(graph.add("Cast", (above,), node, to=_FLOAT), node.output[0])
    return True


def _one_hot(graph: Graph, node: Any) -> bool:
    given = attributes(node)
    if "cats_int64s" not in given:
        return False
    whole = graph.add("Cast", (node.input[0],), node, to=_INT64)
    wide = graph.add("Unsqueeze", (whole, np.array([-1])), node)
    same = graph.add("Equal", (wide, np.array(given["cats_int64s"], np.int64)), node)
    graph.rename(graph.add("Cast", (same,), node, to=_FLOAT), node.output[0])
    return True


def _label_encoder(graph: Graph, node: Any) -> bool:
    given = attributes(node)
    keys = given.get("keys_int64s"), given.get("keys_floats")
    values = given.get("values_int64s"), given.get("values_floats")
    kinds = (np.int64, np.float32)
    if not any(keys) or not any(values):
        return False
    known = next(np.array(k, kind) for k, kind in zip(keys, kinds, strict=True) if k)
    becomes = next(np.array(v, kind) for v, kind in zip(values, kinds, strict=True) if v)
    other = given.get("default_int64", -1) if values[0] else given.get("default_float", -0.0)
    wide = graph.add("Unsqueeze", (node.input[0], np.array([-1])), node)
    same = graph.add("Cast", (graph.add("Equal", (wide, known), node),), node, to=6)
    place = graph.add("ArgMax", (same,), node, axis=-1, keepdims=0)
    found = graph.add("ReduceMax", (same,), node, axes=[-1], keepdims=0)
    is_known = graph.add("Cast", (found,), node, to=9)
    value = graph.add("Gather", (becomes, place), node, axis=0)
    made = graph.add("Where", (is_known, value, np.array(other, becomes.dtype)), node)
    graph.rename(made, node.output[0])
    return True


def _vectorizer(graph: Graph, node: Any) -> bool:
    parts = [graph.add("Cast", (name,), node, to=_FLOAT) for name in node.input]
    graph.rename(graph.add("Concat", parts, node, axis=1), node.output[0])
    return True


def _linear(graph: Graph, node: Any) -> bool:
    given = attributes(node)
    is_classifier = node.op_type == "LinearClassifier"
    classes = onnx_scores.labels(given) if is_classifier else ()
    features = _shape(graph, node)[-1]
    weight = _of(given, "coefficients").reshape(-1, features).T.copy()
    scores = graph.add("MatMul", (_floats(graph, node), weight), node)
    bias = _of(given, "intercepts")
    if bias.size:
        scores = graph.add("Add", (scores, bias), node)
    if not is_classifier:
        onnx_scores.put(graph, node, scores, given, node.output[0])
    elif weight.shape[1] == 1:
        onnx_scores.put_label(graph, node, scores, 0.0, classes)
        onnx_scores.put_one(graph, node, scores, given, True)
    else:
        onnx_scores.put_best(graph, node, scores, classes)
        onnx_scores.put(graph, node, scores, given, node.output[1])
    return True


def _vectors(graph: Graph, node: Any) -> bool:
    onnx_svm.rewrite(graph, node, _floats(graph, node))
    return True


def _trees(graph: Graph, node: Any) -> bool:
    onnx_trees.rewrite(graph, node, _floats(graph, node), _shape(graph, node)[0])
    return True


_LOWER: dict[str, Callable[[Graph, Any], bool]] = {
    "ArrayFeatureExtractor": _feature_extractor,
    "Binarizer": _binarizer,
    "FeatureVectorizer": _vectorizer,
    "Imputer": _imputer,
    "LabelEncoder": _label_encoder,
    "LinearClassifier": _linear,
    "LinearRegressor": _linear,
    "Normalizer": _normalizer,
    "OneHotEncoder": _one_hot,
    "SVMClassifier": _vectors,
    "SVMRegressor": _vectors,
    "Scaler": _scaler,
    "TreeEnsembleClassifier": _trees,
    "TreeEnsembleRegressor": _trees,
}
