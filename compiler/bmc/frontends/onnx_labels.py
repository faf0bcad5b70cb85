"""Makes numbers of the names of classes, because a board has no strings, and tensors of ONNX's maps.

A classifier's label becomes the place of its name among the names, and a ZipMap, which pairs names with probabilities,
hands on the probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Op -> the attribute for labels that are numbers.
_NUMBERS = {
    "LinearClassifier": "classlabels_ints",
    "SVMClassifier": "classlabels_ints",
    "TreeEnsembleClassifier": "classlabels_int64s",
}


def numbered(model: Any) -> tuple[str, ...]:
    """Changes a ModelProto; returns the names of its classes, () if it has none."""
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    names: tuple[str, ...] = ()
    for node in graph.node:
        for item in list(node.attribute):
            if item.name == "classlabels_strings" and item.strings and node.op_type in _NUMBERS:
                names = names or tuple(text.decode() for text in item.strings)
                count = len(item.strings)
                node.attribute.remove(item)
                node.attribute.append(
                    helper.make_attribute(_NUMBERS[node.op_type], list(range(count)))
                )
    chosen = {
        name
        for node in graph.node
        if node.op_type in ("ArrayFeatureExtractor", "Gather")
        for name in node.input[:1]
    }
    for item in graph.initializer:
        if item.data_type == TensorProto.STRING and item.name in chosen:
            texts = numpy_helper.to_array(item)
            names = names or tuple(map(_text, texts.reshape(-1)))
            item.CopyFrom(
                numpy_helper.from_array(np.arange(texts.size).reshape(texts.shape), item.name)
            )
    _without_maps(graph)
    for value in (*graph.output, *graph.value_info) if names else ():
        if value.type.tensor_type.elem_type == TensorProto.STRING:
            value.type.tensor_type.elem_type = TensorProto.INT64
    return names


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _without_maps(graph: Any) -> None:
    from onnx import TensorProto, helper

    maps = {node.output[0]: node for node in graph.node if node.op_type == "ZipMap"}
    for value in graph.output:
        node = maps.get(value.name)
        if node is not None:
            labels = next(len(a.strings) or len(a.ints) for a in node.attribute)
            value.CopyFrom(
                helper.make_tensor_value_info(value.name, TensorProto.FLOAT, (None, labels))
            )
            node.CopyFrom(helper.make_node("Identity", node.input, node.output, name=node.name))
