"""Gives outputs whose size depends on the data their largest size, and a further output that counts what is real.

The model gets nodes that pad what its own ops find, so the framework computes the expected outputs. For the target,
settle() puts in their place what onnx_bounded.py makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.frontends import largest_sizes, onnx_bounded, onnx_graph, onnx_rows
from bmc.frontends.onnx_bounded import Rows
from bmc.frontends.onnx_graph import Graph, attributes

# What the names of all nodes that pad or count begin with; onnxruntime wants them to differ.
_PAD = "bmc_pad/"
_INT32 = 6


@dataclass(frozen=True, slots=True)
class Padded:
    """An output of the largest size.

    Attributes:
      name: the output's.
      inner: the value of the size that is found.
      axis: along which it is padded.
      size: the largest number of elements along the axis.
      count: the output that says how many elements along the axis are real, int32; shared by what one op finds.
    """

    name: str
    inner: str
    axis: int
    size: int
    count: str


def pad(model: Any, static: Any) -> bool:
    """Adds what pads and counts to a ModelProto; returns whether it has such outputs.

    Args:
      model: without functions.
      static: the same model with inferred shapes and a recent opset, which this changes.
    """
    from onnx import helper

    ops = {node.op_type for node in model.graph.node}
    found = _lowered(static) if ops & onnx_bounded.MAKERS.keys() else None
    if not found:
        return False
    graph, rows = found
    taken = {name for node in model.graph.node for name in (*node.input, *node.output)}
    counts: dict[str, str] = {}
    for output in [each for each in model.graph.output if each.name in rows]:
        name, row, shape = output.name, rows[output.name], graph.shape(output.name)
        if shape is None:
            return False
        inner = largest_sizes.free(f"{name}_found", taken)
        taken.add(inner)
        for node in model.graph.node:
            onnx_graph.rename(node, {name: inner})
        if row.count not in counts:
            counts[row.count] = largest_sizes.free(f"{name}_count", taken)
            taken.add(counts[row.count])
            model.graph.node.extend(_counting(inner, row.axis, counts[row.count]))
        each = Padded(name, inner, row.axis, shape[row.axis], counts[row.count])
        model.graph.node.extend(_padding(each, shape, graph.dtype(name)))
        output.type.tensor_type.ClearField("shape")
    model.graph.output.extend(
        helper.make_tensor_value_info(name, _INT32, ()) for name in counts.values()
    )
    return bool(counts)


def padded(model: Any) -> tuple[Padded, ...]:
    """Returns the outputs of a ModelProto that pad() changed."""
    makers = {output: node for node in model.graph.node for output in node.output}
    # Which onnxruntime makes initializers when it folds.
    constants = onnx_graph.constants(model.graph)
    last = [n for n in model.graph.node if n.name.startswith(_PAD) and n.doc_string]
    found = []
    for node in last:
        joined, places = node.input
        axis, size = int(attributes(node)["axis"]), constants[places].dims[0]
        found.append(Padded(node.output[0], makers[joined].input[0], axis, size, node.doc_string))
    return tuple(found)


def settle(model: Any) -> Any:
    """Returns a ModelProto that pad() changed, with what it found, in shapes that are known; any other one as it is.

    Args:
      model: with inferred shapes and a recent opset.
    """
    from onnx import shape_inference

    outputs = padded(model)
    if not outputs:
        return model
    own = [node for node in model.graph.node if not node.name.startswith(_PAD)]
    del model.graph.node[:]
    model.graph.node.extend(own)
    lowered = _lowered(model)
    assert lowered  # The same nodes were when pad() added the others.
    graph, rows = lowered
    graph.nodes.extend(graph.proto.node)
    for each in outputs:
        row, (like,) = rows[each.inner], (n for n in graph.nodes if each.inner in n.output)
        shape = graph.shape(each.inner) or ()
        steps = np.arange(each.size).reshape([-1] + [1] * (len(shape) - each.axis - 1))
        is_real = graph.add("Less", (steps, row.count), like)
        zero = np.zeros((), graph.dtype(each.inner))
        graph.rename(graph.add("Where", (is_real, each.inner, zero), like), each.name)
    for count, row in {each.count: rows[each.inner] for each in outputs}.items():
        (like,) = (n for n in graph.nodes if row.count in n.output)
        graph.rename(graph.add("Cast", (row.count,), like, to=_INT32), count)
    graph.finish()
    return shape_inference.infer_shapes(model, data_prop=True)


def notes(model: Any) -> Iterator[str]:
    """Yields a sentence for the user about each output of a ModelProto that pad() changed."""
    for each in padded(model):
        yield largest_sizes.note(each.name, each.size, each.axis, each.count)


def _lowered(model: Any) -> tuple[Graph, dict[str, Rows]] | None:
    """Returns the graph of a ModelProto, which this changes, with inferred shapes; None if it needs sizes that are not
    known.
    """
    from onnx import shape_inference

    rows = onnx_bounded.lower(model)
    model.CopyFrom(shape_inference.infer_shapes(model, data_prop=True))
    graph = Graph(model.graph)
    found = onnx_rows.follow(graph, rows)
    return (graph, found) if found else None


def _counting(inner: str, axis: int, count: str) -> list[Any]:
    from onnx import numpy_helper

    sizes, place, size = (f"{count}/{part}" for part in ("sizes", "axis", "size"))
    return [
        _node("Shape", [inner], sizes),
        _node("Constant", [], place, value=numpy_helper.from_array(np.array(axis))),
        _node("Gather", [sizes, place], size),
        _node("Cast", [size], count, to=_INT32),
    ]


def _padding(each: Padded, shape: tuple[int, ...], dtype: np.dtype[Any]) -> list[Any]:
    from onnx import numpy_helper

    parts = ("dims", "zeros", "joined", "places")
    dims, zeros, joined, places = (f"{each.name}/{part}" for part in parts)
    zero, size, first = map(
        numpy_helper.from_array, (np.zeros(1, dtype), np.array(shape), np.arange(each.size))
    )
    last = _node("Gather", [joined, places], each.name, axis=each.axis)
    last.doc_string = each.count
    return [
        _node("Constant", [], dims, value=size),
        _node("ConstantOfShape", [dims], zeros, value=zero),
        _node("Concat", [each.inner, zeros], joined, axis=each.axis),
        _node("Constant", [], places, value=first),
        last,
    ]


def _node(kind: str, inputs: list[str], output: str, **given: Any) -> Any:
    from onnx import helper

    return helper.make_node(kind, inputs, [output], name=f"{_PAD}{output}", **given)
