"""Writes an .onnx model that has integers of 2 and 4 bits, or floats of 4 to 8, with the bytes of onnx_codes.py.

What moves such numbers moves bytes. Floats become f32 by a table of all of them, and f32 is rounded to them with
integers; of integers, onnxruntime's Cast rounds halves away from zero. Any other op is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import onnx_blocks, onnx_codes
from bmc.frontends.onnx_codes import is_float
from bmc.frontends.onnx_graph import Graph, attributes, graphs_of, node_name, set_attributes

_MOVES = (
    "Compress", "Concat", "Constant", "ConstantOfShape", "DepthToSpace", "Dropout", "Expand", "Flatten", "Gather",
    "GatherElements", "GatherND", "Identity", "If", "Loop", "Pad", "Reshape", "ReverseSequence", "Scan", "Shape",
    "Size", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Where",
)  # fmt: skip
# Bits of the significand of f32, and of all its numbers the one above which the exponent is special.
_SIGNIFICAND = 23
_EXPONENTS = 0xFF << _SIGNIFICAND
_BIAS = 127


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
        names = [name for name in (*node.input, *node.output) if name]
        given = attributes(node)
        to = given.get("to", given.get("output_dtype", 0))
        if not any(map(onnx_codes.narrow, (to, *map(graph.element, names)))):
            graph.nodes.append(node)
            continue
        changed = True
        make = _MAKERS.get(node.op_type) if node.domain in ("", "ai.onnx") else None
        if make:
            make(graph, node)
        elif node.op_type in _MOVES and node.domain in ("", "ai.onnx"):
            graph.nodes.append(node)
        else:
            raise _refused(graph, node, names)
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


def _refused(graph: Graph, node: Any, names: list[str]) -> BmcError:
    kinds = filter(None, (onnx_codes.narrow(graph.element(name)) for name in names))
    kind = next((dtype.name for dtype in kinds), "a narrow type")
    return BmcError(
        "unsupported-dtype",
        f"op '{node.op_type}' computes with {kind}, which is only stored, moved and cast",
        where=node_name(node),
        hint="cast it to float before that op",
    )


def _cast(graph: Graph, node: Any) -> None:
    to = attributes(node)["to"]
    _convert(graph, node, node.input[0], graph.element(node.input[0]), to)


def _cast_like(graph: Graph, node: Any) -> None:
    to = graph.element(node.input[1])
    _convert(graph, node, node.input[0], graph.element(node.input[0]), to)


def _convert(graph: Graph, node: Any, value: str, source: int, to: int) -> None:
    """Makes one element type of another, as the node's output."""
    from onnx import TensorProto

    given, wanted = onnx_codes.narrow(source), onnx_codes.narrow(to)
    if given and is_float(given):
        value, source, given = _decoded(graph, node, value, given), TensorProto.FLOAT, None
    if wanted and is_float(wanted):
        if source != TensorProto.FLOAT:
            value = graph.add("Cast", [value], node, to=TensorProto.FLOAT)
        made = _encoded(graph, node, value, wanted)
    elif wanted:
        floats = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)
        if source in floats:
            made = _wrapped(graph, node, _whole(graph, node, value), wanted)
        else:
            whole = graph.add("Cast", [value], node, to=TensorProto.INT32)
            made = _wrapped(graph, node, whole, wanted)
    else:
        made = graph.add("Cast", [value], node, to=to)
    graph.rename(made, node.output[0])


def _whole(graph: Graph, node: Any, value: str) -> str:
    """Returns floats as int32, halves rounded away from zero."""
    from onnx import TensorProto

    value = graph.add("Cast", [value], node, to=TensorProto.FLOAT)
    whole = graph.add("Cast", [value], node, to=TensorProto.INT32)
    truncated = graph.add("Cast", [whole], node, to=TensorProto.FLOAT)
    rest = graph.add("Sub", [value, truncated], node)
    # Twice what was cut off is 1 or more where it was at least a half.
    twice = graph.add("Add", [rest, rest], node)
    return graph.add("Add", [whole, graph.add("Cast", [twice], node, to=TensorProto.INT32)], node)


def _wrapped(graph: Graph, node: Any, value: str, wanted: np.dtype[Any]) -> str:
    """Returns the low bits of int32 as bytes of integers."""
    low, high = onnx_codes.bounds(wanted)
    offset, mask = _number(-low), _number(high - low)
    if low:
        value = graph.add("Add", [value, offset], node)
    value = graph.add("BitwiseAnd", [value, mask], node)
    if low:
        value = graph.add("Sub", [value, offset], node)
    return graph.add("Cast", [value], node, to=_element(wanted))


def _decoded(graph: Graph, node: Any, value: str, dtype: np.dtype[Any]) -> str:
    """Returns the f32 that bytes of floats stand for."""
    from onnx import TensorProto

    place = graph.add("Cast", [value], node, to=TensorProto.INT32)
    return graph.add("Gather", [onnx_codes.all_of(dtype), place], node)


def _encoded(graph: Graph, node: Any, value: str, dtype: np.dtype[Any]) -> str:
    """Returns the bytes of floats nearest to f32, halves to even ones."""
    from onnx import TensorProto

    if dtype.name == "float8_e8m0fnu":
        return _exponents(graph, node, value)
    info = ml_dtypes.finfo(dtype)
    most, nan = onnx_codes.bounds(dtype)[1], onnx_codes.nan(dtype)
    least = int(np.array(info.smallest_normal, np.float32).view(np.int32))
    # What is too large gets the next code, infinity or NaN. There is none after that of NaN without a sign.
    saturates = attributes(node).get("saturate", 1) or len(onnx_codes.all_of(dtype)) < 256
    shape = graph.shape(node.input[0])
    add, number, whole = graph.add, _number, TensorProto.INT32

    is_nan = add("IsNaN", [value], node)
    clean = add("Where", [is_nan, np.array(0, np.float32), value], node)
    limit = np.array(2 * float(info.max), np.float32)
    size = add("Min", [add("Abs", [clean], node), limit], node)
    # The power of two below a number tells what a step of its significand is.
    power = add("BitwiseAnd", [graph.bits(size, whole, node, shape), number(_EXPONENTS)], node)
    above = add("Sub", [add("Max", [power, number(least)], node), number(least)], node)
    factors = number(((2 * _BIAS + info.nmant) << _SIGNIFICAND) - least)
    factor = graph.bits(add("Sub", [factors, above], node), TensorProto.FLOAT, node, shape)
    rounded = add("Round", [add("Mul", [size, factor], node)], node)
    before = add("Div", [above, number(1 << (_SIGNIFICAND - info.nmant))], node)
    code = add("Add", [before, add("Cast", [rounded], node, to=whole)], node)
    code = add("Min", [code, number(most if saturates else most + 1)], node)

    is_negative = add("Less", [graph.bits(clean, whole, node, shape), number(0)], node)
    if "fnuz" in dtype.name:
        is_negative = add("And", [is_negative, add("Greater", [code, number(0)], node)], node)
    sign = number(len(onnx_codes.all_of(dtype)) // 2)
    signed = add("Add", [code, add("Where", [is_negative, sign, number(0)], node)], node)
    if not saturates and most + 1 == nan:
        is_nan = add("Or", [is_nan, add("Equal", [code, number(nan)], node)], node)
    made = add("Where", [is_nan, number(nan), signed], node)
    return add("Cast", [made], node, to=TensorProto.UINT8)


def _exponents(graph: Graph, node: Any, value: str) -> str:
    """Returns the exponents of f32, from 0 for 2^-127; of a negative number, for which there is none, 0."""
    from onnx import TensorProto

    given = attributes(node)
    one = 1 << _SIGNIFICAND
    # What is added before the significand is cut off, and the least bits that become 2^-126.
    added, second = {
        b"down": (0, one),
        b"nearest": (one // 2, one // 4 * 3),
        b"up": (one - 1, one // 2 + 1),
    }[given.get("round_mode", b"up")]
    add, number = graph.add, _number

    bits = graph.bits(value, TensorProto.INT32, node, graph.shape(node.input[0]))
    code = add("Div", [add("Add", [bits, number(added)], node), number(one)], node)
    code = add("Where", [add("Less", [bits, number(second)], node), number(0), code], node)
    code = add("Min", [code, number(2 * _BIAS)], node)
    is_nan = add("IsNaN", [value], node)
    if not given.get("saturate", 1):
        for kind, bound in (("Less", one // 2), ("Greater", 2 * _BIAS * one)):
            is_outside = add(kind, [bits, number(bound)], node)
            is_nan = add("Or", [is_nan, is_outside], node)
    made = add("Where", [is_nan, number(0xFF), code], node)
    return add("Cast", [made], node, to=TensorProto.UINT8)


def _number(value: int) -> Array:
    return np.array(value, np.int32)


def _quantize(graph: Graph, node: Any) -> None:
    from onnx import TensorProto

    given = attributes(node)
    element = graph.element(node.output[0]) or graph.element(node.input[2])
    wanted = onnx_codes.narrow(element)
    if wanted is None or not is_float(wanted):
        _quantize_whole(graph, node, wanted)
        return
    x, scale = node.input[0], _spread(graph, node, 1)
    kinds = {graph.element(x), graph.element(node.input[1])}
    precision = given.get("precision") or (kinds.pop() if len(kinds) == 1 else TensorProto.FLOAT)
    if precision != graph.element(x):
        x = graph.add("Cast", [x], node, to=precision)
    if precision != graph.element(node.input[1]):
        scale = graph.add("Cast", [scale], node, to=precision)
    steps = graph.add("Div", [x, scale], node)
    if precision != TensorProto.FLOAT:
        steps = graph.add("Cast", [steps], node, to=TensorProto.FLOAT)
    # The standard's reference adds no zero point, which must be 0, to floats that have a NaN.
    if len(node.input) > 2 and node.input[2] and not wanted.name.startswith("float8_"):
        steps = graph.add("Add", [steps, _spread(graph, node, 2)], node)
    graph.rename(_encoded(graph, node, steps, wanted), node.output[0])


def _quantize_whole(graph: Graph, node: Any, wanted: np.dtype[Any] | None) -> None:
    """Makes bytes of floats, within the bounds of a type of fewer bits; the scale may be a narrow float."""
    scale = onnx_codes.narrow(graph.element(node.input[1]))
    if scale:
        node.input[1] = _decoded(graph, node, node.input[1], scale)
    if wanted is None:
        graph.nodes.append(node)
        return
    if "output_dtype" in attributes(node):
        set_attributes(node, output_dtype=_element(wanted))
    result, node.output[0] = node.output[0], graph.new(node)
    graph.nodes.append(node)
    limits = [np.array(bound, onnx_codes.stored(wanted)) for bound in onnx_codes.bounds(wanted)]
    graph.rename(graph.add("Clip", [node.output[0], *limits], node), result)


def _dequantize(graph: Graph, node: Any) -> None:
    from onnx import TensorProto

    given = onnx_codes.narrow(graph.element(node.input[0]))
    if given is None or not is_float(given):
        scale = onnx_codes.narrow(graph.element(node.input[1]))
        if scale:
            node.input[1] = _decoded(graph, node, node.input[1], scale)
        graph.nodes.append(node)
        return
    value = _decoded(graph, node, node.input[0], given)
    if len(node.input) > 2 and node.input[2]:
        value = graph.add("Sub", [value, _spread(graph, node, 2)], node)
    scale = _spread(graph, node, 1)
    element = graph.element(node.input[1])
    if not onnx_codes.narrow(element) and element != TensorProto.FLOAT:
        scale = graph.add("Cast", [scale], node, to=TensorProto.FLOAT)
    made = graph.add("Mul", [value, scale], node)
    to = graph.element(node.output[0])
    if to and to != TensorProto.FLOAT:
        made = graph.add("Cast", [made], node, to=to)
    graph.rename(made, node.output[0])


def _spread(graph: Graph, node: Any, place: int) -> str:
    """Returns an input of a quantization, one number for all elements, an axis or a block, so that it fits all.

    Narrow floats among them become f32.

    Raises:
      BmcError: sizes are not known.
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
    return _decoded(graph, node, made, dtype) if dtype else made


_MAKERS: dict[str, Callable[[Graph, Any], None]] = {
    "Cast": _cast,
    "CastLike": _cast_like,
    "DequantizeLinear": _dequantize,
    "QuantizeLinear": _quantize,
}
