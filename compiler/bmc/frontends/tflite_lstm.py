"""An LSTM of a .tflite file becomes the ops of its steps, because the converter to TOSA has no such op.

Every call begins with zeros, as in LiteRT after reset_all_variables(). Gates of one step are parts of one product.
TFLite has no ops for the steps of an LSTM of int8. It becomes one product, of which tflite_int8_lstm makes the steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import tflite_build, tflite_int8_lstm, tflite_schema
from bmc.frontends.tflite_int8_lstm import BIASES, KIND, RECURRENT, WEIGHTS

# Peepholes, projections and coefficients of layer normalization.
_UNKNOWN = (9, 10, 11, 16, 17, 20, 21, 22, 23)
_ABSENT = -1
_MOST_STEPS = 1024


def expand(data: bytes, name: str) -> bytes:
    """Returns the file without LSTMs; raises BmcError for one that is not understood.

    Args:
      data: the file with static shapes.
      name: its name, for messages.
    """
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    found = False
    for graph in model.subgraphs:
        ops: list[Any] = []
        for op in graph.operators:
            if tflite_schema.op_kind(model, op) == KIND:
                found = True
                ops += _Lstm(model, graph, op, name).ops()
            else:
                ops.append(op)
        graph.operators = ops
    return tflite_schema.pack(model, len(data)) if found else data


class _Lstm:
    """One op, whose tensors and constants are added to its graph."""

    def __init__(self, model: Any, graph: Any, op: Any, name: str) -> None:
        self._model, self._graph, self._op, self._file = model, graph, op, name
        self._options = op.builtinOptions
        self._name = tflite_schema.text(graph.tensors[op.outputs[0]].name)
        self._ops: list[Any] = []
        self._check()

    def _check(self) -> None:
        from ai_edge_litert.schema_py_generated import ActivationFunctionType, TensorType

        for place in _UNKNOWN:
            if self._operand(place) != _ABSENT:
                raise self._refused("with a peephole, a projection or a layer normalization")
        kinds = (TensorType.FLOAT32, TensorType.INT8)
        if self._graph.tensors[self._op.inputs[0]].type not in kinds:
            raise self._refused("on int16 or uint8")
        if self._options.fusedActivationFunction != ActivationFunctionType.TANH:
            raise self._refused("with another activation than TANH")
        if self._options.diagonalRecurrentTensors:
            raise self._refused("with diagonal weights")

    def _refused(self, what: str) -> BmcError:
        return BmcError(
            "op-rejected",
            f"bmc does not know op '{KIND}' {what}",
            where=f"{self._name} in {self._file}",
            hint=tflite_schema.OTHER_OPS,
        )

    def _operand(self, place: int) -> int:
        return int(self._op.inputs[place]) if place < len(self._op.inputs) else _ABSENT

    def _joined(self, places: tuple[int, ...]) -> Array:
        """Returns the constants of all gates, one after the other."""
        arrays = []
        for place in places:
            index = self._operand(place)
            if index == _ABSENT:
                continue
            tensor = self._graph.tensors[index]
            data = self._model.buffers[tensor.buffer].data
            if data is None or tflite_schema.weight_type(tensor) != "float32":
                raise self._refused("with weights that are no constants of f32")
            values = np.asarray(data, np.uint8).view(np.float32)
            arrays.append(values.reshape(tflite_schema.shape(tensor)))
        return np.concatenate(arrays)

    def ops(self) -> list[Any]:
        """Returns the ops that take its place."""
        from ai_edge_litert import schema_py_generated as schema

        image = self._graph.tensors[self._op.inputs[0]]
        time = 0 if self._options.timeMajor else 1
        *outer, _ = tflite_schema.shape(image)
        steps, batch = outer[time], outer[1 - time]
        if steps > _MOST_STEPS:
            raise self._refused(f"with more than {_MOST_STEPS} steps")
        if tflite_int8_lstm.is_int8(self._graph, self._op):
            return self._product()
        weights, recurrent, biases = map(self._joined, (WEIGHTS, RECURRENT, BIASES))
        gates = 3 if self._operand(WEIGHTS[0]) == _ABSENT else 4
        size = len(weights) // gates
        whole = schema.FullyConnectedOptionsT()
        whole.keepNumDims = True
        products = self._make(
            "FULLY_CONNECTED",
            [
                self._op.inputs[0],
                self._constant("weights", weights),
                self._constant("bias", biases),
            ],
            [*outer, gates * size],
            whole,
        )
        unpack = schema.UnpackOptionsT()
        unpack.num, unpack.axis = steps, time
        rows = [self._tensor([batch, gates * size]) for _ in range(steps)]
        self._ops.append(tflite_build.op(self._model, "UNPACK", [products], rows, options=unpack))
        again = self._constant("recurrent", recurrent)
        axis = self._constant("axis", np.array(1, np.int32))
        hidden, cell = _ABSENT, _ABSENT
        outputs = []
        for row in rows:
            if hidden != _ABSENT:
                more = self._make(
                    "FULLY_CONNECTED",
                    [hidden, again, _ABSENT],
                    [batch, gates * size],
                    schema.FullyConnectedOptionsT(),
                )
                row = self._make("ADD", [row, more], [batch, gates * size], schema.AddOptionsT())
            split = schema.SplitOptionsT()
            split.numSplits = gates
            parts = [self._tensor([batch, size]) for _ in range(gates)]
            self._ops.append(
                tflite_build.op(self._model, "SPLIT", [axis, row], parts, options=split)
            )
            hidden, cell = self._step(parts, cell, [batch, size])
            outputs.append(hidden)
        pack = schema.PackOptionsT()
        pack.valuesCount, pack.axis = steps, time
        self._ops.append(
            tflite_build.op(self._model, "PACK", outputs, self._op.outputs, options=pack)
        )
        return self._ops

    def _product(self) -> list[Any]:
        """Returns a product of the shape of an LSTM of int8."""
        from ai_edge_litert.schema_py_generated import FullyConnectedOptionsT

        operands = [self._graph.tensors[index] for index in self._op.inputs if index >= 0]
        constants = tflite_schema.constants(self._model, operands, self._file)
        lstm = tflite_int8_lstm.read(self._graph, self._op, constants)
        if isinstance(lstm, str):
            raise self._refused(lstm)
        weights = self._constant("shape", lstm.weights[0])
        tflite_build.quantize(self._graph, weights, 1.0)
        options = FullyConnectedOptionsT()
        options.keepNumDims = True
        given, made = [self._op.inputs[0], weights, _ABSENT], self._op.outputs
        kind = "FULLY_CONNECTED"
        return [tflite_build.op(self._model, kind, given, made, version=5, options=options)]

    def _step(self, parts: list[int], cell: int, shape: list[int]) -> tuple[int, int]:
        """Returns the output and the cell after a step; without a cell before it, that was zeros."""
        from ai_edge_litert import schema_py_generated as schema

        def product(a: int, b: int) -> int:
            return self._make("MUL", [a, b], shape, schema.MulOptionsT())

        *first, forget, new, output = parts
        forget = self._make("LOGISTIC", [forget], shape)
        if first:
            take = self._make("LOGISTIC", first, shape)
        else:
            one = self._constant("one", np.ones((), np.float32))
            take = self._make("SUB", [one, forget], shape, schema.SubOptionsT())
        added = product(take, self._make("TANH", [new], shape))
        if cell != _ABSENT:
            added = self._make("ADD", [product(forget, cell), added], shape, schema.AddOptionsT())
        clip = np.float32(self._options.cellClip)
        if clip > 0:
            for kind, bound in (("MINIMUM", clip), ("MAXIMUM", -clip)):
                limit = self._constant(kind, np.asarray(bound, np.float32))
                options = schema.MaximumMinimumOptionsT()
                added = self._make(kind, [added, limit], shape, options)
        opened = self._make("LOGISTIC", [output], shape)
        return product(opened, self._make("TANH", [added], shape)), added

    def _make(self, kind: str, inputs: list[int], shape: list[int], options: Any = None) -> int:
        """Adds an op with one result; returns that."""
        result = self._tensor(shape)
        self._ops.append(tflite_build.op(self._model, kind, inputs, [result], options=options))
        return result

    def _tensor(self, shape: list[int]) -> int:
        return tflite_build.add_tensor(self._graph, self._unique(), shape)

    def _constant(self, what: str, values: Array) -> int:
        name = f"{self._unique()}_{what}"
        return tflite_build.add_constant(self._model, self._graph, name, values)

    def _unique(self) -> str:
        return f"{self._name}_{len(self._graph.tensors)}"
