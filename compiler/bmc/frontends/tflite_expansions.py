"""Writes ops with others where Arm's converter has another answer than LiteRT.

- NEG: the least integer stays what it is in LiteRT. TOSA's becomes the largest.
- LOG_SOFTMAX of floats: the converter's is the logarithm of SOFTMAX, which is 0 for all but the largest numbers.
- L2_NORMALIZATION of floats: LiteRT divides by no less than a millionth.
- Pools of floats and bytes: the converter loses the function that a pool ends with.
- STRIDED_SLICE: it writes no shape of a slice that begins before its tensor or ends behind it.
- COMPLEX_ABS: it takes an operand and its result for tensors of one shape, and counts the parts of complex numbers.
- SIGN of floats: what is no number stays so. The converter's is 0.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.frontends import tflite_build, tflite_schema

# Of LiteRT's reference kernel.
_LEAST_NORM = 1e-6


def expand(data: bytes) -> bytes:
    """Returns a file without such ops; `data` is the file with static shapes."""
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    found = False
    for graph in model.subgraphs:
        ops: list[Any] = []
        for op in graph.operators:
            written = _written(model, graph, op)
            found = found or bool(written)
            ops += written or [op]
        graph.operators = ops
    return tflite_schema.pack(model, len(data)) if found else data


def _written(model: Any, graph: Any, op: Any) -> list[Any]:
    """Returns what takes the place of an op, [] if it stays."""
    make = _EXPANSIONS.get(tflite_schema.op_kind(model, op))
    return make(model, graph, op) if make else []


def _difference(model: Any, graph: Any, op: Any) -> list[Any]:
    from ai_edge_litert.schema_py_generated import SubOptionsT, TensorType

    result = graph.tensors[op.outputs[0]]
    types = {TensorType.INT32: np.int32, TensorType.INT64: np.int64}
    if result.type not in types:
        return []
    # SUB of other ranks takes one of the least elements.
    zeros = np.zeros([1] * len(tflite_schema.shape(result)), types[result.type])
    name = tflite_schema.text(result.name) + "_zero"
    zero = tflite_build.add_constant(model, graph, name, zeros)
    return [tflite_build.op(model, "SUB", [zero, op.inputs[0]], op.outputs, 2, SubOptionsT())]


@dataclass(frozen=True)
class _Rows:
    """A result of floats, [..., n], of which an op computes each row by itself.

    Attributes:
      axis: the tensor with the number of its last dimension.
    """

    model: Any
    graph: Any
    name: str
    shape: tuple[int, ...]
    axis: int

    @staticmethod
    def of(model: Any, graph: Any, op: Any) -> _Rows | None:
        """Returns the rows of an op's result, None if it has none or is of another type."""
        from ai_edge_litert.schema_py_generated import TensorType

        result = graph.tensors[op.outputs[0]]
        shape, name = tflite_schema.shape(result), tflite_schema.text(result.name)
        if result.type != TensorType.FLOAT32 or not shape:
            return None
        last = np.array([len(shape) - 1], np.int32)
        axis = tflite_build.add_constant(model, graph, name + "_axis", last)
        return _Rows(model, graph, name, shape, axis)

    def like(self, what: str) -> int:
        """Adds a tensor of the result's shape."""
        return tflite_build.add_tensor(self.graph, f"{self.name}_{what}", self.shape)

    def each(self, what: str) -> int:
        """Adds a tensor with a number for each row, [..., 1]."""
        return tflite_build.add_tensor(self.graph, f"{self.name}_{what}", (*self.shape[:-1], 1))

    def reduce(self, kind: str, source: int, result: int) -> Any:
        """Returns the op that makes a number of each row."""
        from ai_edge_litert.schema_py_generated import ReducerOptionsT

        options = ReducerOptionsT()
        options.keepDims = True
        return tflite_build.op(self.model, kind, [source, self.axis], [result], 1, options)


def _logarithm(model: Any, graph: Any, op: Any) -> list[Any]:
    """Takes the largest element off, and then the logarithm of the sum of the powers."""
    from ai_edge_litert.schema_py_generated import SubOptionsT

    if (rows := _Rows.of(model, graph, op)) is None:
        return []
    largest, total, log = map(rows.each, ("largest", "sum", "log"))
    below, powers = map(rows.like, ("below", "powers"))
    return [
        rows.reduce("REDUCE_MAX", op.inputs[0], largest),
        tflite_build.op(model, "SUB", [op.inputs[0], largest], [below], 1, SubOptionsT()),
        tflite_build.op(model, "EXP", [below], [powers]),
        rows.reduce("SUM", powers, total),
        tflite_build.op(model, "LOG", [total], [log]),
        tflite_build.op(model, "SUB", [below, log], op.outputs, 1, SubOptionsT()),
    ]


def _quotient(model: Any, graph: Any, op: Any) -> list[Any]:
    """Divides each row by the root of the sum of its squares."""
    from ai_edge_litert.schema_py_generated import DivOptionsT, MaximumMinimumOptionsT

    if (rows := _Rows.of(model, graph, op)) is None:
        return []
    least = np.full([1] * len(rows.shape), _LEAST_NORM, np.float32)
    limit = tflite_build.add_constant(model, graph, rows.name + "_least", least)
    squares = rows.like("squares")
    total, norm, divisor = map(rows.each, ("sum", "norm", "divisor"))
    options = MaximumMinimumOptionsT()
    return [
        tflite_build.op(model, "SQUARE", [op.inputs[0]], [squares]),
        rows.reduce("SUM", squares, total),
        tflite_build.op(model, "SQRT", [total], [norm]),
        tflite_build.op(model, "MAXIMUM", [norm, limit], [divisor], 1, options),
        tflite_build.op(model, "DIV", [op.inputs[0], divisor], op.outputs, 1, DivOptionsT()),
    ]


def _sign(model: Any, graph: Any, op: Any) -> list[Any]:
    from ai_edge_litert.schema_py_generated import NotEqualOptionsT, SelectV2OptionsT, TensorType

    result = graph.tensors[op.outputs[0]]
    if result.type != TensorType.FLOAT32:
        return []
    name, shape = tflite_schema.text(result.name), tflite_schema.shape(result)
    sign = tflite_build.add_tensor(graph, name + "_sign", shape)
    none = tflite_build.add_tensor(graph, name + "_none", shape, "bool")
    (x,) = op.inputs
    return [
        tflite_build.op(model, "NOT_EQUAL", [x, x], [none], 1, NotEqualOptionsT()),
        tflite_build.op(model, "SIGN", [x], [sign]),
        tflite_build.op(model, "SELECT_V2", [none, x, sign], op.outputs, 1, SelectV2OptionsT()),
    ]


def _magnitude(model: Any, graph: Any, op: Any) -> list[Any]:
    """Takes the root of the sum of the squares of both parts."""
    from ai_edge_litert.schema_py_generated import AddOptionsT, MulOptionsT

    result = graph.tensors[op.outputs[0]]
    name, shape = tflite_schema.text(result.name), tflite_schema.shape(result)
    ops, squares = [], []
    for part in ("REAL", "IMAG"):
        number, square = (
            tflite_build.add_tensor(graph, f"{name}_{part}{end}", shape) for end in ("", "_square")
        )
        ops.append(tflite_build.op(model, part, op.inputs, [number]))
        ops.append(tflite_build.op(model, "MUL", [number] * 2, [square], options=MulOptionsT()))
        squares.append(square)
    total = tflite_build.add_tensor(graph, name + "_total", shape)
    ops.append(tflite_build.op(model, "ADD", squares, [total], options=AddOptionsT()))
    return [*ops, tflite_build.op(model, "SQRT", [total], op.outputs)]


def _inside(model: Any, graph: Any, op: Any) -> list[Any]:
    """Moves the ends of a slice into its tensor, if all are constants and no dimension comes or goes."""
    options = op.builtinOptions
    source, *parts = (graph.tensors[index] for index in op.inputs)
    data = [model.buffers[part.buffer].data for part in parts]
    kept = options.ellipsisMask | options.newAxisMask | options.offset
    if kept or any(each is None for each in data):
        return []
    starts, ends, steps = (np.asarray(each, np.uint8).view(np.int32) for each in data)
    name = tflite_schema.text(graph.tensors[op.outputs[0]].name)
    moved = []
    for bounds, masks in ((starts, options.beginMask), (ends, options.endMask)):
        new = bounds.copy()
        for axis, size in enumerate(tflite_schema.shape(source)[: len(new)]):
            if steps[axis] > 0 and not (masks | options.shrinkAxisMask) >> axis & 1:
                new[axis] = np.clip(new[axis] + (size if new[axis] < 0 else 0), 0, size)
        moved.append(new)
    if all((new == old).all() for new, old in zip(moved, (starts, ends), strict=True)):
        return []
    made = [
        tflite_build.add_constant(model, graph, f"{name}_end{place}", new)
        for place, new in enumerate(moved)
    ]
    op.inputs = [op.inputs[0], *made, op.inputs[3]]
    return [op]


def _activated(model: Any, graph: Any, op: Any) -> list[Any]:
    from ai_edge_litert.schema_py_generated import ActivationFunctionType, TensorType

    names = {
        ActivationFunctionType.RELU: "RELU",
        ActivationFunctionType.RELU_N1_TO_1: "RELU_N1_TO_1",
        ActivationFunctionType.RELU6: "RELU6",
    }
    result = graph.tensors[op.outputs[0]]
    function = names.get(op.builtinOptions.fusedActivationFunction)
    # For int16, tflite_activations.py rounds as LiteRT does.
    if function is None or result.type == TensorType.INT16:
        return []
    pooled = copy.copy(result)
    pooled.name = (tflite_schema.text(result.name) + "_pooled").encode()
    graph.tensors.append(pooled)
    limited = tflite_build.op(model, function, [len(graph.tensors) - 1], op.outputs)
    op.outputs = [len(graph.tensors) - 1]
    op.builtinOptions.fusedActivationFunction = ActivationFunctionType.NONE
    return [op, limited]


_EXPANSIONS = {
    "AVERAGE_POOL_2D": _activated,
    "COMPLEX_ABS": _magnitude,
    "L2_NORMALIZATION": _quotient,
    "LOG_SOFTMAX": _logarithm,
    "MAX_POOL_2D": _activated,
    "NEG": _difference,
    "SIGN": _sign,
    "STRIDED_SLICE": _inside,
}
