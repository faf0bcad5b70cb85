"""Writes an .onnx model that has integers of 2 and 4 bits, or floats of 4 to 8, with the bytes of onnx_codes.py.

What moves such numbers moves bytes. Floats become f32 by a table of all of them, and f32 is rounded to them with
integers; of integers, onnxruntime's Cast rounds halves away from zero. Any other op is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bmc.errors import BmcError
from bmc.frontends import onnx_blocks, onnx_codes
from bmc.frontends.onnx_codes import is_float
from bmc.frontends.onnx_graph import Graph, attributes, graphs_of, node_name, set_attributes
from bmc.frontends.onnx_narrow_floats import decoded, encoded, number

# What the standard has for such numbers and does not compute with them.
_MOVES = (
    "Constant", "ConstantOfShape", "Dropout", "Flatten", "Identity", "If", "Loop", "Pad", "Reshape", "Scan", "Shape",
    "Size", "Squeeze", "TensorScatter", "Transpose", "Unsqueeze",
)  # fmt: skip


def apply(model: Any) -> bool:
    """Changes a ModelProto with inferred shapes, which have to be inferred again; returns whether it did.

    Raises:
      BmcError: an op computes with such numbers.
    """
    changed = _apply(Graph(model.graph))
    return _retype(model.graph) or changed


def _apply(graph: Graph) -> bool:
    changed = False
    for node in list(graph.proto.node):
        for inner in graphs_of(node):
            changed = _apply(Graph(inner, graph)) or changed
        found = map(onnx_codes.narrow, map(graph.element, (*node.input, *node.output)))
        kinds = [dtype for dtype in found if dtype]
        changed = changed or bool(kinds)
        is_known = node.domain in ("", "ai.onnx")
        if not kinds or is_known and node.op_type in _MOVES:
            graph.nodes.append(node)
        elif is_known and node.op_type in _MAKERS:
            _MAKERS[node.op_type](graph, node)
        else:
            raise BmcError(
                "unsupported-dtype",
                f"op '{node.op_type}' computes with {kinds[0].name}, which is only stored, moved and cast",
                where=node_name(node),
                hint="cast it to float before that op",
            )
    graph.finish()
    return changed


def _retype(graph: Any) -> bool:
    """Makes bytes of what a graph declares, and of its constants; returns whether there were any."""
    values = (*graph.input, *graph.output, *graph.value_info)
    tensors = list(graph.initializer)
    changed = False
    for node in graph.node:
        for attribute in node.attribute:
            tensors += [attribute.t, *attribute.tensors]
        for inner in graphs_of(node):
            changed = _retype(inner) or changed
    for value in values:
        if dtype := onnx_codes.narrow(value.type.tensor_type.elem_type):
            value.type.tensor_type.elem_type = _element(dtype)
            changed = True
    for tensor in tensors:
        if onnx_codes.narrow(tensor.data_type):
            _recode(tensor)
            changed = True
    return changed


def _recode(tensor: Any) -> None:
    from onnx import numpy_helper

    array = onnx_codes.codes(numpy_helper.to_array(tensor))
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _element(dtype: np.dtype[Any]) -> int:
    """Returns ONNX's number for the bytes of such a type."""
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(onnx_codes.stored(dtype)))


def _cast(graph: Graph, node: Any) -> None:
    """Makes one element type of another."""
    from onnx import TensorProto

    value, source, to = node.input[0], graph.element(node.input[0]), graph.element(node.output[0])
    given, wanted = onnx_codes.narrow(source), onnx_codes.narrow(to)
    if given and is_float(given):
        value, source = decoded(graph, node, value, given), TensorProto.FLOAT
    if wanted and is_float(wanted):
        made = encoded(graph, node, _as(graph, node, value, "FLOAT"), wanted)
    elif wanted:
        floats = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)
        made = _whole(graph, node, value) if source in floats else _as(graph, node, value, "INT32")
        made = _wrapped(graph, node, made, wanted)
    else:
        made = graph.add("Cast", [value], node, to=to)
    graph.rename(made, node.output[0])


def _bit_cast(graph: Graph, node: Any) -> None:
    to = attributes(node)["to"]
    wanted = onnx_codes.narrow(to)
    value = _as(graph, node, node.input[0], "INT32")
    if wanted and not is_float(wanted):
        value = _wrapped(graph, node, value, wanted)
    elif wanted:
        mask = number(len(onnx_codes.all_of(wanted)) - 1)
        value = _as(graph, node, graph.add("BitwiseAnd", [value, mask], node), "UINT8")
    else:
        value = graph.add("Cast", [value], node, to=to)
    graph.rename(value, node.output[0])


def _ask(graph: Graph, node: Any) -> None:
    """Asks f32 for NaN or infinities."""
    if dtype := onnx_codes.narrow(graph.element(node.input[0])):
        node.input[0] = decoded(graph, node, node.input[0], dtype)
    graph.nodes.append(node)


def _as(graph: Graph, node: Any, value: str, element: str) -> str:
    from onnx import TensorProto

    return graph.add("Cast", [value], node, to=TensorProto.DataType.Value(element))


def _whole(graph: Graph, node: Any, value: str) -> str:
    """Returns floats as int32, halves rounded away from zero."""
    value = _as(graph, node, value, "FLOAT")
    whole = _as(graph, node, value, "INT32")
    rest = graph.add("Sub", [value, _as(graph, node, whole, "FLOAT")], node)
    # Twice what was cut off is 1 or more where it was at least a half.
    twice = graph.add("Add", [rest, rest], node)
    return graph.add("Add", [whole, _as(graph, node, twice, "INT32")], node)


def _wrapped(graph: Graph, node: Any, value: str, wanted: np.dtype[Any]) -> str:
    """Returns the low bits of int32 as bytes of integers."""
    low, high = onnx_codes.bounds(wanted)
    offset, mask = number(-low), number(high - low)
    if low:
        value = graph.add("Add", [value, offset], node)
    value = graph.add("BitwiseAnd", [value, mask], node)
    if low:
        value = graph.add("Sub", [value, offset], node)
    return graph.add("Cast", [value], node, to=_element(wanted))


def _quantize(graph: Graph, node: Any) -> None:
    from onnx import TensorProto

    wanted = onnx_codes.narrow(graph.element(node.output[0]))
    if wanted is None:
        _with_plain_scale(graph, node)
        return
    if not is_float(wanted):
        _quantize_whole(graph, node, wanted)
        return
    x, scale = node.input[0], _spread(graph, node, 1)
    kinds = {graph.element(name) for name in node.input[:2]}
    usual = kinds.pop() if len(kinds) == 1 else TensorProto.FLOAT
    to = attributes(node).get("precision", usual)
    operands = [graph.add("Cast", [each], node, to=to) for each in (x, scale)]
    steps = _as(graph, node, graph.add("Div", operands, node), "FLOAT")
    # To floats of 8 bits, whose zero point must be 0, the standard's reference adds none, and keeps the sign of zeros.
    if len(node.input) > 2 and node.input[2] and not wanted.name.startswith("float8_"):
        steps = graph.add("Add", [steps, _spread(graph, node, 2)], node)
    graph.rename(encoded(graph, node, steps, wanted), node.output[0])


def _quantize_whole(graph: Graph, node: Any, wanted: np.dtype[Any]) -> None:
    """Makes bytes of floats, within the bounds of a type of fewer bits."""
    if "output_dtype" in attributes(node):
        set_attributes(node, output_dtype=_element(wanted))
    result, node.output[0] = node.output[0], graph.new(node)
    _with_plain_scale(graph, node)
    limits = [np.array(bound, onnx_codes.stored(wanted)) for bound in onnx_codes.bounds(wanted)]
    graph.rename(graph.add("Clip", [node.output[0], *limits], node), result)


def _dequantize(graph: Graph, node: Any) -> None:
    given = onnx_codes.narrow(graph.element(node.input[0]))
    if given is None or not is_float(given):
        _with_plain_scale(graph, node)
        return
    value = decoded(graph, node, node.input[0], given)
    if len(node.input) > 2 and node.input[2]:
        value = graph.add("Sub", [value, _spread(graph, node, 2)], node)
    scale = _as(graph, node, _spread(graph, node, 1), "FLOAT")
    made = graph.add("Mul", [value, scale], node)
    made = graph.add("Cast", [made], node, to=graph.element(node.output[0]))
    graph.rename(made, node.output[0])


def _with_plain_scale(graph: Graph, node: Any) -> None:
    """Keeps a node, whose scale becomes f32 if it is a narrow float."""
    if scale := onnx_codes.narrow(graph.element(node.input[1])):
        node.input[1] = decoded(graph, node, node.input[1], scale)
    graph.nodes.append(node)


def _spread(graph: Graph, node: Any, place: int) -> str:
    """Returns an input of a quantization, one number for all elements, an axis or a block, so that it fits all.

    Narrow floats among them become f32. Raises BmcError if sizes are not known.
    """
    shape, name = graph.shape(node.input[0]), node.input[place]
    axis = attributes(node).get("axis", 1) % max(len(shape or ()), 1)
    made = None if shape is None else onnx_blocks.spread(graph, node, name, shape, axis)
    if made is None:
        raise BmcError(
            "dynamic-shape",
            f"op '{node.op_type}' quantizes a tensor of unknown size",
            where=node_name(node),
            hint="give the shapes of the inputs",
        )
    dtype = onnx_codes.narrow(graph.element(name))
    return decoded(graph, node, made, dtype) if dtype else made


_MAKERS: dict[str, Callable[[Graph, Any], None]] = {
    "BitCast": _bit_cast,
    "Cast": _cast,
    "CastLike": _cast,
    "DequantizeLinear": _dequantize,
    "IsInf": _ask,
    "IsNaN": _ask,
    "QuantizeLinear": _quantize,
}
