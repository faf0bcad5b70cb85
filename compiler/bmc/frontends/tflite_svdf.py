"""An SVDF of a .tflite file becomes other ops, because the converter to TOSA has no such op.

It keeps what its filters made of the last inputs, as many as its memory is long, and weighs these. What it keeps
becomes an input and an output of the main graph, and then a state of the model.

TFLite has no ops for the sums of an SVDF of int8. So the converter gets others of the same shapes, of which
tflite_int8_svdf makes these sums.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import tflite_build, tflite_schema
from bmc.frontends.tflite_file import TfliteFile
from bmc.frontends.tflite_svdf_op import KIND, Svdf, read

# What an op on floats may end with, and the op that does so.
_FUSED = ("RELU", "RELU_N1_TO_1", "RELU6", "TANH")
_LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
_ABSENT = -1


@dataclass(frozen=True)
class Kept:
    """What an SVDF keeps from call to call: the name of the tensor, and its first value."""

    name: str
    initial: Array


def found(file: TfliteFile) -> Iterator[BmcError]:
    """Yields each SVDF that bmc does not know."""
    weights = file.weights()
    for number, graph in enumerate(file.model.subgraphs):
        for op in graph.operators:
            if tflite_schema.op_kind(file.model, op) != KIND:
                continue
            why: Svdf | str = "in a branch or a loop"
            if not number:
                why = read(graph, op, weights)
            if isinstance(why, Svdf) and file.ops()[_LSTM]:
                why = f"beside op '{_LSTM}'"
            if isinstance(why, str):
                yield BmcError(
                    "op-rejected",
                    f"bmc does not know op '{KIND}' {why}",
                    where=f"{tflite_schema.text(graph.tensors[op.outputs[0]].name)} in {file.name}",
                    hint=tflite_schema.OTHER_OPS,
                )


def expand(data: bytes, name: str) -> tuple[bytes, list[Kept]]:
    """Returns the file without SVDF, and what these keep, which are the last inputs and outputs of its main graph.

    Args:
      data: the file with static shapes, in which found() finds nothing.
      name: its name, for messages.
    """
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    graph = model.subgraphs[0]
    if not any(tflite_schema.op_kind(model, op) == KIND for op in graph.operators):
        return data, []
    ops: list[Any] = []
    kept: list[Kept] = []
    constants = tflite_schema.constants(model, graph.tensors, name)
    for op in graph.operators:
        svdf: Svdf | str = ""
        if tflite_schema.op_kind(model, op) == KIND:
            svdf = read(graph, op, constants)
        if isinstance(svdf, Svdf):
            expansion = _Expansion(model, graph, op, svdf)
            ops += expansion.ops
            kept.append(expansion.kept)
        else:
            ops.append(op)
    graph.operators, model.signatureDefs = ops, None
    return tflite_schema.pack(model, len(data)), kept


class _Expansion:
    """One op, whose tensors and constants are added to its graph.

    ops: the ops that take its place.
    kept: what it keeps.
    """

    def __init__(self, model: Any, graph: Any, op: Any, svdf: Svdf) -> None:
        from ai_edge_litert import schema_py_generated as schema

        self._model, self._graph, self._op = model, graph, op
        self._name = tflite_schema.text(graph.tensors[op.outputs[0]].name)
        self.ops: list[Any] = []
        batch, filters, memory, units = svdf.batch, svdf.filters, svdf.memory, svdf.units
        x, feature, _, _, before = (int(index) for index in op.inputs)
        state = graph.tensors[before]
        state.isVariable = False
        self._like = state
        if svdf.is_float:
            feature = self._constant("features", svdf.feature)
        options = schema.FullyConnectedOptionsT()
        made = self._make("FULLY_CONNECTED", [x, feature, _ABSENT], (batch, filters), options)
        # The oldest step comes first, so that kernels find the filters of one beside each other.
        made = self._reshape(made, (batch, 1, filters))
        old = self._reshape(before, (batch, memory, filters))
        sizes = (batch, memory - 1, filters)
        bounds = [
            self._constant(what, np.array(values, np.int32))
            for what, values in (("begin", (0, 1, 0)), ("size", sizes))
        ]
        old = self._make("SLICE", [old, *bounds], sizes)
        joined = schema.ConcatenationOptionsT()
        joined.axis = 1
        new = self._make("CONCATENATION", [old, made], (batch, memory, filters), joined)
        after = self._reshape(new, (batch, filters * memory))
        rows = self._reshape(new, (batch, memory, units, filters // units))
        if svdf.is_float:
            self._weigh(rows, svdf)
        else:
            most = self._reduce("REDUCE_MAX", rows, (batch, units))
            self.ops.append(tflite_build.op(model, "QUANTIZE", [most], op.outputs))
        graph.inputs, graph.outputs = [*graph.inputs, before], [*graph.outputs, after]
        initial = np.full((batch, filters * memory), svdf.state_zero_point, svdf.time.dtype)
        self.kept = Kept(tflite_schema.text(state.name), initial)

    def _weigh(self, rows: int, svdf: Svdf) -> None:
        """Makes the result of an op on floats, of its states as [batch, step, unit, filter]."""
        from ai_edge_litert import schema_py_generated as schema

        weights = svdf.time.T.reshape(svdf.memory, svdf.units, -1)
        products = self._make(
            "MUL",
            [rows, self._constant("weights", weights)],
            (svdf.batch, *weights.shape),
            schema.MulOptionsT(),
        )
        shape = (svdf.batch, svdf.units)
        made = self._reduce("SUM", products, shape)
        if svdf.bias.any():
            bias = self._constant("bias", svdf.bias)
            made = self._make("ADD", [made, bias], shape, schema.AddOptionsT())
        (last,) = [each for each in self.ops if list(each.outputs) == [made]]
        fused = svdf.activation
        if fused in _FUSED:
            last = tflite_build.op(self._model, fused, [made], self._op.outputs)
            self.ops.append(last)
        last.outputs = self._op.outputs

    def _reshape(self, of: int, shape: tuple[int, ...]) -> int:
        return self._make(
            "RESHAPE", [of, self._constant("shape", np.array(shape, np.int32))], shape
        )

    def _reduce(self, kind: str, of: int, shape: tuple[int, ...]) -> int:
        """Adds an op that reduces the second and the last of four dimensions."""
        from ai_edge_litert.schema_py_generated import ReducerOptionsT

        axis = self._constant("axis", np.array([1, 3], np.int32))
        return self._make(kind, [of, axis], shape, ReducerOptionsT())

    def _make(
        self, kind: str, inputs: list[int], shape: tuple[int, ...], options: Any = None
    ) -> int:
        """Adds an op whose result has the type and scale of the state; returns that."""
        tensor = copy.copy(self._like)
        tensor.name, tensor.shape = self._unique().encode(), [*shape]
        tensor.shapeSignature, tensor.buffer = None, 0
        self._graph.tensors.append(tensor)
        result = len(self._graph.tensors) - 1
        self.ops.append(tflite_build.op(self._model, kind, inputs, [result], options=options))
        return result

    def _constant(self, what: str, values: Array) -> int:
        name = f"{self._unique()}_{what}"
        return tflite_build.add_constant(self._model, self._graph, name, values)

    def _unique(self) -> str:
        return f"{self._name}_{len(self._graph.tensors)}"
