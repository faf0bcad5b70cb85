"""Reads an SVDF of a .tflite file, and writes one of int8 with the states of int16 that LiteRT knows."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import tflite_build, tflite_schema

KIND = "SVDF"
# Types of the input, the weights of filters, those of steps, the bias, the state and the output.
_FLOAT = ("float32", "float32", "float32", "float32", "float32", "float32")
_HYBRID = ("float32", "int8", "int8", "float32", "float32", "float32")
_INT16 = ("int8", "int8", "int16", "int32", "int16", "int8")
_INT8 = ("int8", "int8", "int8", "int32", "int8", "int8")
_TYPES = (_FLOAT, _HYBRID, _INT16, _INT8)
_BIAS, _STATE = 3, 4
_ABSENT = -1
# LiteRT demands RELU for integers, and computes none: their type ends at a zero point.
_OF_FLOATS, _OF_INTEGERS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH"), ("RELU",)
_ACTIVATIONS: dict[tuple[str, ...], tuple[str, ...]] = {
    _FLOAT: _OF_FLOATS,
    _HYBRID: _OF_FLOATS,
    _INT16: _OF_INTEGERS,
    _INT8: _OF_INTEGERS,
}
# Larger scales may make LiteRT's sums overflow. TOSA has no shift for smaller ones.
_LEAST_SCALE, _MOST_SCALE = 2.0**-30, 2.0**13


@dataclass(frozen=True)
class Svdf:
    """An SVDF.

    Attributes:
      batch: of the input.
      units: how many filters the result adds up, so many that follow each other to one.
      feature: [filter, input], what makes a filter's number of an input; float if that is.
      time: [filter, step], what a filter's numbers of the last inputs are multiplied with, the first being the oldest.
      bias: [unit].
      scales: what the sums over inputs, and those over steps, are multiplied with; zeros for floats.
      state_zero_point, zero_point: of what is kept, and of the result.
      activation: TFLite's name of what follows; for integers, the limits of their type stand for it.
    """

    batch: int
    units: int
    feature: Array
    time: Array
    bias: Array
    scales: tuple[np.float32, np.float32]
    state_zero_point: int
    zero_point: int
    activation: str

    @property
    def filters(self) -> int:
        return int(self.time.shape[0])

    @property
    def memory(self) -> int:
        """How many inputs it keeps."""
        return int(self.time.shape[1])

    @property
    def is_float(self) -> bool:
        return self.time.dtype == np.float32


@dataclass(frozen=True)
class _Tensors:
    """The operands and the result of an op, as objects of the schema."""

    x: Any
    feature: Any
    time: Any
    bias: Any
    state: Any
    result: Any

    def types(self) -> tuple[str, ...]:
        """Returns the one of _TYPES that the tensors have, () if they have other types."""
        names = [tflite_schema.weight_type(each) if each else None for each in self.all()]
        return next((each for each in _TYPES if _is(names, each)), ())

    def all(self) -> list[Any]:
        return [self.x, self.feature, self.time, self.bias, self.state, self.result]


def read(graph: Any, op: Any, constants: dict[str, Array]) -> Svdf | str:
    """Returns an SVDF, or what is wrong with it.

    Args:
      graph: the graph of the op.
      op: the op, which has its operands, a result and its options.
      constants: by the names of tensors.
    """
    used = [*op.inputs, *op.outputs]
    if len(used) != len(_FLOAT) or _ABSENT in (*used[:_BIAS], *used[_STATE:]):
        return "without its operands"
    tensors = _Tensors(*(graph.tensors[i] if i != _ABSENT else None for i in used))
    types, rank = tensors.types(), int(op.builtinOptions.rank)
    values = [
        constants.get(tflite_schema.text(each.name)) if each else np.zeros(0)
        for each in (tensors.feature, tensors.time, tensors.bias)
    ]
    uses = [i for each in graph.operators for i in (*each.inputs, *each.outputs)]
    uses += [*graph.inputs, *graph.outputs]
    is_own = tensors.state.isVariable and uses.count(used[_STATE]) == 1
    has_values = tflite_schema.text(tensors.state.name) in constants
    activation = _activation(op.builtinOptions.fusedActivationFunction)
    for is_wrong, what in (
        (not types, "on tensors of these types"),
        (not is_own or has_values, "whose state is not its own"),
        (any(each is None for each in values), "with weights that are no constants"),
        (not _fit(tensors, rank), "with operands of shapes that do not match"),
        (activation not in _ACTIVATIONS.get(types, ()), "with such an activation"),
    ):
        if is_wrong:
            return what
    feature, time, bias = (each for each in values if each is not None)
    units = len(time) // rank
    scales, points = (np.float32(0), np.float32(0)), (0, 0)
    if types in (_INT16, _INT8):
        needed = [tensors.x, tensors.feature, tensors.time, tensors.state, tensors.result]
        if not all(map(_has_scale, needed)):
            return "without the scales of its tensors"
        if any(map(_zero_point, needed[1 : 4 if types == _INT16 else 3])):
            return "with weights or a state that have a zero point"
        x, *weights, state, result = map(_scale, needed)
        with np.errstate(all="ignore"):
            scales = x * weights[0] / state, state * weights[1] / result
        if not all(_LEAST_SCALE < scale < _MOST_SCALE for scale in scales):
            return "with scales that are too far apart"
        points = _zero_point(tensors.state), _zero_point(tensors.result)
    elif types == _HYBRID:
        if not all(map(_has_scale, (tensors.feature, tensors.time))):
            return "without the scales of its tensors"
        feature = feature.astype(np.float32) * _scale(tensors.feature)
        time = time.astype(np.float32) * _scale(tensors.time)
    if tensors.bias is None:
        bias = np.zeros(units, types[_BIAS])
    batch = tflite_schema.shape(tensors.x)[0]
    return Svdf(batch, units, feature, time, bias, scales, *points, activation)


def _fit(tensors: _Tensors, rank: int) -> bool:
    """Whether the shapes of tensors, and the rank, fit to each other, with a memory of two or more."""
    sizes = [tflite_schema.shape(each) for each in (tensors.x, tensors.time)]
    if any(len(each) != 2 for each in sizes) or rank < 1:
        return False
    (batch, inputs), (filters, memory) = sizes
    if filters < 1 or filters % rank or memory < 2:
        return False
    units = filters // rank
    wanted = [(batch, inputs), (filters, inputs), (filters, memory), (units,)]
    wanted += [(batch, filters * memory), (batch, units)]
    return all(
        each is None or tflite_schema.shape(each) == shape
        for each, shape in zip(tensors.all(), wanted, strict=True)
    )


def _activation(number: int) -> str:
    """Returns TFLite's name of an activation."""
    from ai_edge_litert.schema_py_generated import ActivationFunctionType

    names: dict[int, str] = {
        value: key for key, value in vars(ActivationFunctionType).items() if key.isupper()
    }
    return names.get(number, "")


def _is(names: list[str | None], wanted: tuple[str, ...]) -> bool:
    """Whether tensors have these types; a bias may be absent."""
    return all(
        name == each or (place == _BIAS and name is None)
        for place, (name, each) in enumerate(zip(names, wanted, strict=True))
    )


def _has_scale(tensor: Any) -> bool:
    """Whether a tensor has one scale, and one zero point or none."""
    if not tflite_schema.is_quantized(tensor):
        return False
    points = tensor.quantization.zeroPoint
    return len(tensor.quantization.scale) == 1 and (points is None or len(points) == 1)


def _scale(tensor: Any) -> np.float32:
    return np.float32(tensor.quantization.scale[0])


def _zero_point(tensor: Any) -> int:
    points = tensor.quantization.zeroPoint
    return 0 if points is None else int(points[0])


def for_litert(data: bytes) -> bytes:
    """Returns a file in which each SVDF with a state of int8 is two of them, with states of int16.

    LiteRT takes any state for one of int16, and writes outside of it. TensorFlow Lite for Microcontrollers has states
    of int8: a filter's number is rounded to one. The first of the two SVDFs makes that number and keeps nothing, with a
    weight of 1 for the only step that it knows. The second one keeps it, with weights of 1 for its own filter.

    Args:
      data: the file, of which read() knows each SVDF.
    """
    from ai_edge_litert.schema_py_generated import ModelT, TensorType

    model = ModelT.InitFromPackedBuf(data, 0)
    graph = model.subgraphs[0]
    ops: list[Any] = []
    for op in graph.operators:
        is_svdf = tflite_schema.op_kind(model, op) == KIND
        if is_svdf and graph.tensors[op.inputs[_STATE]].type == TensorType.INT8:
            ops.append(_first(model, graph, op))
        ops.append(op)
    if len(ops) == len(graph.operators):
        return data
    graph.operators = ops
    return tflite_schema.pack(model, 2 * len(data))


def _first(model: Any, graph: Any, op: Any) -> Any:
    """Makes the second SVDF of an op; returns the first one."""
    from ai_edge_litert.schema_py_generated import (
        ActivationFunctionType,
        SVDFOptionsT,
        TensorType,
    )

    x, feature, time, bias, kept = op.inputs
    state = graph.tensors[kept]
    filters, batch = tflite_schema.shape(graph.tensors[time])[0], tflite_schema.shape(state)[0]
    name = tflite_schema.text(graph.tensors[op.outputs[0]].name)

    def added(what: str, like: Any, **changes: Any) -> int:
        tensor = copy.copy(like)
        tensor.name, tensor.buffer, tensor.shapeSignature = f"{name}_{what}".encode(), 0, None
        for key, value in changes.items():
            setattr(tensor, key, value)
        graph.tensors.append(tensor)
        return len(graph.tensors) - 1

    def constant(what: str, values: Array, scale: float) -> int:
        index = tflite_build.add_constant(model, graph, f"{name}_{what}", values)
        tflite_build.quantize(graph, index, scale)
        return index

    number = added("number", state, shape=[batch, filters], isVariable=False)
    weights = graph.tensors[time]
    values = np.asarray(model.buffers[weights.buffer].data, np.uint8).view(np.int8)
    values = values.reshape(tflite_schema.shape(weights)).astype(np.int16)
    scale = float(_scale(state))
    unkept = added("unkept", state, shape=[batch, filters], type=TensorType.INT16)
    tflite_build.quantize(graph, unkept, scale)
    wide = added("kept", state, type=TensorType.INT16)
    tflite_build.quantize(graph, wide, scale)
    options = SVDFOptionsT()
    options.rank, options.fusedActivationFunction = 1, ActivationFunctionType.RELU
    first = tflite_build.op(
        model,
        KIND,
        [x, feature, constant("one", np.ones((filters, 1), np.int16), 1.0), _ABSENT, unkept],
        [number],
        version=3,
        options=options,
    )
    own = constant("own", np.eye(filters, dtype=np.int8), 1.0)
    op.inputs = [number, own, constant("steps", values, float(_scale(weights))), bias, wide]
    state.isVariable = False
    return first
