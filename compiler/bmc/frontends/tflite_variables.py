"""Variables of a .tflite file become inputs and outputs of its main graph, and then states of the model.

The converter to TOSA loses variables. What the main graph reads before it assigns is a state: an input for the value
before a call, and an output for the value after it. A variable that it never assigns is a constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmc import factory
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import link, tflite_build, tflite_litert, tflite_schema
from bmc.frontends.tflite_file import TfliteFile
from bmc.frontends.tflite_svdf import Kept

_HANDLE, _READ, _ASSIGN, _ONCE = "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"
_HINT = "convert the model with its state as an input and an output"
_MAIN = "main"
_NO_SYMBOL = re.compile(r"\W", re.ASCII)

# A variable's container and name.
_Key = tuple[bytes, bytes]


@dataclass(frozen=True)
class Explicit:
    """A file without variables.

    data: its contents. The states follow the inputs, and their new values the outputs.
    states: initial values by name, in that order.
    """

    data: bytes
    states: dict[str, Array]


def has_state(file: TfliteFile) -> bool:
    """Whether the main graph assigns a variable that it has read."""
    key = _Keys(file.model, file.name)
    read = set()
    for op in file.model.subgraphs[0].operators:
        kind = tflite_schema.op_kind(file.model, op)
        if kind == _ASSIGN and key(op) in read:
            return True
        if kind == _READ:
            read.add(key(op))
    return False


def explicit(data: bytes, file: TfliteFile, kept: Sequence[Kept] = ()) -> Explicit:
    """Returns the file without variables.

    Args:
      data: the file with static shapes.
      file: the model, for its names.
      kept: what ops keep, which the last inputs and outputs of the main graph are already.

    Raises:
      BmcError: LiteRT cannot compute the initial values, or a variable is used in a way that is not understood.
    """
    check(file)
    if not file.ops()[_HANDLE]:
        return Explicit(data, _named((each.name, each.initial) for each in kept))
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    main = _Main(model, file.name)
    values = _initial(data, file.name)
    states = main.rewrite(values)
    # What is called once was only for the initial values. The converter makes functions of all graphs.
    once = {op.builtinOptions.initSubgraphIndex for op in main.once}
    if once >= set(range(1, len(model.subgraphs))):
        model.subgraphs = model.subgraphs[:1]
    model.signatureDefs = None
    named = [(each.name, each.initial) for each in kept]
    named += [(tflite_schema.text(key[1]), values[key]) for key in states]
    return Explicit(tflite_schema.pack(model, len(data)), _named(named))


def _named(states: Iterable[tuple[str, Array]]) -> dict[str, Array]:
    """Returns initial values by names that are symbols and differ."""
    return {
        f"state{number}_{_NO_SYMBOL.sub('_', name)}": initial
        for number, (name, initial) in enumerate(states)
    }


def check(file: TfliteFile) -> None:
    """Raises BmcError if a file has tables or lists of tensors, or uses a variable in a branch or a loop."""
    from ai_edge_litert.schema_py_generated import TensorType

    once = {
        op.builtinOptions.initSubgraphIndex
        for graph in file.model.subgraphs
        for op in graph.operators
        if tflite_schema.op_kind(file.model, op) == _ONCE
    }
    for number, graph in enumerate(file.model.subgraphs):
        plain = () if number and number not in once else (_HANDLE, _READ, _ASSIGN)
        for op in graph.operators:
            kind = tflite_schema.op_kind(file.model, op)
            for index in (*op.inputs, *op.outputs):
                tensor = graph.tensors[index] if index >= 0 else None
                if tensor is None or kind in plain:
                    continue
                if tensor.type in (TensorType.RESOURCE, TensorType.VARIANT):
                    raise BmcError(
                        "variable",
                        f"op '{kind}' in '{file.name}' takes or makes a table, a list or a variable,"
                        f" in tensor '{tflite_schema.text(tensor.name)}': the converter to TOSA loses it",
                        hint="keep a table outside of the model, and read and assign variables outside of"
                        " branches and loops",
                    )


def link_states(path: Path, states: dict[str, Array]) -> None:
    """Makes states of the last inputs and outputs of a converted model, in place."""
    from iree.compiler import ir

    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(path.read_bytes())
        for op in module.body.operations:
            if ir.StringAttr(op.attributes["sym_name"]).value == _MAIN:
                op.attributes["sym_name"] = ir.StringAttr.get(link.pure_name(_MAIN))
        with path.open("wb") as stream:
            module.operation.write_bytecode(stream)
    link.link((link.Function(_MAIN, path),), states, path)


class _Main:
    """The main graph of a model.

    once: its ops that call a graph once.
    """

    def __init__(self, model: Any, name: str) -> None:
        self._model, self._name = model, name
        self._graph = model.subgraphs[0]
        self._key = _Keys(model, name)
        self.once = [op for op in self._graph.operators if self._kind(op) == _ONCE]

    def rewrite(self, values: dict[_Key, Array]) -> list[_Key]:
        """Removes the variables; returns the states in the order of their inputs and outputs.

        Args:
          values: the initial value of each variable that is read.
        """
        graph = self._graph
        assigned = {self._key(op) for op in graph.operators if self._kind(op) == _ASSIGN}
        # Variable -> tensor with its value at this point; tensor that was read -> that tensor.
        current: dict[_Key, int] = {}
        alias: dict[int, int] = {}
        before: dict[_Key, int] = {}
        kept = []
        for op in graph.operators:
            op.inputs = [alias.get(index, index) for index in op.inputs]
            kind = self._kind(op)
            if kind == _READ:
                key, (read,) = self._key(op), op.outputs
                if key in current:
                    self._check_same(key, read, current[key])
                    alias[read] = current[key]
                    continue
                self._check_value(key, read, values[key])
                current[key] = read
                if key in assigned:
                    before[key] = read
                else:
                    buffer = tflite_build.add_buffer(self._model, values[key])
                    graph.tensors[read].buffer = buffer
            elif kind == _ASSIGN:
                key = self._key(op)
                current[key] = op.inputs[1]
                if key in before:
                    self._check_value(key, op.inputs[1], values[key])
            elif kind not in (_HANDLE, _ONCE):
                kept.append(op)
        graph.operators = kept
        graph.inputs = [*graph.inputs, *before.values()]
        outputs = [alias.get(index, index) for index in graph.outputs]
        graph.outputs = [*outputs, *(current[key] for key in before)]
        return list(before)

    def _kind(self, op: Any) -> str:
        return tflite_schema.op_kind(self._model, op)

    def _check_value(self, key: _Key, index: int, value: Array) -> None:
        """Requires a tensor to have the type and shape of the variable's initial value; gives it that shape."""
        tensor = self._graph.tensors[index]
        tensor.shapeSignature = None
        if tflite_schema.shape(tensor) != value.shape or tensor.type != _type(value):
            raise self._refused(key, "has values of different types or shapes")

    def _check_same(self, key: _Key, read: int, assigned: int) -> None:
        """Requires a tensor that is read to mean the same numbers as the one that was assigned."""
        a, b = (self._graph.tensors[index] for index in (read, assigned))
        if tflite_schema.shape(a) != tflite_schema.shape(b) or tflite_schema.meaning(
            a
        ) != tflite_schema.meaning(b):
            raise self._refused(
                key, "is read with another type or quantization than it is assigned"
            )

    def _refused(self, key: _Key, what: str) -> BmcError:
        return BmcError(
            "variable",
            f"variable '{tflite_schema.text(key[1])}' in '{self._name}' {what}",
            hint=_HINT,
        )


class _Keys:
    """Finds the variable that an op of the main graph reads or assigns."""

    def __init__(self, model: Any, name: str) -> None:
        self._name = name
        self._of_handle = {
            int(op.outputs[0]): (
                op.builtinOptions.container or b"",
                op.builtinOptions.sharedName or b"",
            )
            for op in model.subgraphs[0].operators
            if tflite_schema.op_kind(model, op) == _HANDLE
        }

    def __call__(self, op: Any) -> _Key:
        if op.inputs[0] not in self._of_handle:
            raise BmcError("variable", f"'{self._name}' takes a variable as an input", hint=_HINT)
        return self._of_handle[op.inputs[0]]


def _initial(data: bytes, name: str) -> dict[_Key, Array]:
    """Returns the values that variables have before the first call, computed by LiteRT."""
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    graph, key = model.subgraphs[0], _Keys(model, name)
    reads: dict[_Key, int] = {}
    assigned: set[_Key] = set()
    kept = []
    for op in graph.operators:
        kind = tflite_schema.op_kind(model, op)
        if kind in (_HANDLE, _ONCE):
            kept.append(op)
        elif kind == _ASSIGN:
            assigned.add(key(op))
        elif kind == _READ and key(op) not in assigned | set(reads):
            reads[key(op)] = op.outputs[0]
            kept.append(op)
    graph.operators, graph.inputs, graph.outputs = kept, [], list(reads.values())
    model.signatureDefs = None
    litert = tflite_litert.interpreter(tflite_schema.pack(model, len(data)), name)
    try:
        litert.allocate_tensors()
        litert.invoke()
    except (RuntimeError, ValueError) as error:
        raise BmcError(
            "model-failed",
            f"LiteRT cannot initialize the variables of '{name}': {factory.first_line(error)}",
        ) from None
    return {key: litert.get_tensor(index) for key, index in reads.items()}


def _type(value: Array) -> int:
    """Returns TFLite's number of an array's type."""
    from ai_edge_litert.schema_py_generated import TensorType

    return int(getattr(TensorType, value.dtype.name.upper()))
