"""Branches and loops of a .tflite file's main graph become part of it.

The converter to TOSA has no IF. Branches have no side effects (tflite_variables refuses those that have), so both are
computed, and SELECT_V2 takes the results of one. If the condition is a constant, only that branch remains.

It has a WHILE, but Keras's recurrent layers join a tensor of another shape in each turn. A loop whose turns do not
depend on data is written out.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

from bmc.errors import BmcError
from bmc.frontends import tflite_build, tflite_schema, tflite_settled

_IF, _WHILE, _SHAPE, _VARIABLE = "IF", "WHILE", "SHAPE", "VAR_HANDLE"
_CALLS = ("condSubgraphIndex", "bodySubgraphIndex", "thenSubgraphIndex", "elseSubgraphIndex")
# Branches within branches may double a graph at every level.
_MOST_OPS = 100_000
_MOST_TURNS = 1024


def flat(data: bytes, name: str) -> bytes:
    """Returns the file without IF and SHAPE in its main graph, and without WHILE whose turns do not depend on data.

    Args:
      data: the file with static shapes.
      name: its name, for messages.

    Raises:
      BmcError: the branches give tensors of different types or quantizations, or have too many ops, or LiteRT cannot
        run the loops.
    """
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    graph = model.subgraphs[0]
    kinds = {tflite_schema.op_kind(model, op) for op in graph.operators}
    if kinds.isdisjoint((_IF, _WHILE, _SHAPE)):
        return data
    model.signatureDefs = None
    flattened = _Flat(model, name)
    if not kinds.isdisjoint((_IF, _WHILE)):
        flattened.add(graph.operators)
        graph.operators = flattened.ops
        graph.outputs = [flattened.final(index) for index in graph.outputs]
        if not flattened.has_loops:
            model.subgraphs = [graph]
        elif _VARIABLE not in kinds:
            _drop_unused(model)
    # Variables have no values yet.
    follow = flattened.turns or _SHAPE in kinds or _is_open(model)
    if follow and _VARIABLE not in kinds:
        tflite_settled.settle(model, name)
    return tflite_schema.pack(model, len(data))


def _is_open(model: Any) -> bool:
    """Whether the shape of a tensor is only known where it is computed."""
    tensors = [tensor for graph in model.subgraphs for tensor in graph.tensors]
    return any(
        -1 in tensor.shapeSignature for tensor in tensors if tensor.shapeSignature is not None
    )


def _drop_unused(model: Any) -> None:
    """Drops the graphs of loops and branches that were written out, whose shapes may not be those of a single turn."""
    kept = [0]
    # Branches that were called twice have one object for their options.
    calls: dict[tuple[int, str], Any] = {}
    for number in kept:
        for op in model.subgraphs[number].operators:
            for name in filter(partial(hasattr, op.builtinOptions), _CALLS):
                calls[id(op.builtinOptions), name] = op.builtinOptions
                if (called := getattr(op.builtinOptions, name)) not in kept:
                    kept.append(called)
    for (_, name), options in calls.items():
        setattr(options, name, kept.index(getattr(options, name)))
    model.subgraphs = [model.subgraphs[number] for number in kept]


class _Flat:
    """The main graph while branches are put into it.

    ops: its ops so far.
    turns: of all loops that were written out.
    has_loops: whether it has others.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.ops: list[Any] = []
        self.turns, self.has_loops = 0, False
        self._model, self._name = model, name
        self._graph = model.subgraphs[0]
        self._tensors = self._graph.tensors
        # Result of an IF -> the tensor that it is.
        self._same: dict[int, int] = {}

    def final(self, index: int) -> int:
        """Returns the tensor that a tensor of the main graph has become."""
        return self._same.get(index, index)

    def add(self, ops: list[Any]) -> None:
        """Adds ops on tensors of the main graph."""
        for op in ops:
            if len(self.ops) > _MOST_OPS:
                raise BmcError("too-large", f"the branches in '{self._name}' have too many ops")
            op.inputs = [self.final(index) for index in op.inputs]
            if tflite_schema.op_kind(self._model, op) == _IF:
                self._add_if(op)
            elif tflite_schema.op_kind(self._model, op) == _WHILE:
                self._add_while(op)
            elif not tflite_settled.fold(self._model, self._graph, op):
                self.ops.append(op)

    def _add_if(self, op: Any) -> None:
        from ai_edge_litert.schema_py_generated import SelectV2OptionsT

        condition, *inputs = op.inputs
        options = op.builtinOptions
        choices = (options.thenSubgraphIndex, options.elseSubgraphIndex)
        known = self._model.buffers[self._tensors[condition].buffer].data
        if known is not None and len(known):
            results = self._add_branch(choices[0 if known[0] else 1], inputs)
            self._same |= dict(zip(map(int, op.outputs), results, strict=True))
            return
        branches = [self._add_branch(choice, inputs) for choice in choices]
        for output, yes, no in zip(op.outputs, *branches, strict=True):
            meanings = {tflite_schema.meaning(self._tensors[i]) for i in (output, yes, no)}
            shapes = {tflite_schema.shape(self._tensors[i]) for i in (output, yes, no)}
            if len(meanings) > 1 or len(shapes) > 1:
                raise BmcError(
                    "op-rejected",
                    f"the branches of op '{_IF}' give tensors of different shapes, types or quantizations",
                    where=f"{tflite_schema.text(self._tensors[output].name)} in {self._name}",
                    hint=tflite_schema.OTHER_OPS,
                )
            options = SelectV2OptionsT()
            operands = [condition, yes, no]
            self.ops.append(
                tflite_build.op(self._model, "SELECT_V2", operands, [output], options=options)
            )

    def _add_while(self, op: Any) -> None:
        options, before = op.builtinOptions, len(self.ops)
        values = list(op.inputs)
        for turn in range(_MOST_TURNS + 1):
            (index,) = self._add_branch(options.condSubgraphIndex, values)
            goes_on = tflite_settled.constant(self._model, self._graph, index)
            if goes_on is None:
                break
            if not goes_on.any():
                self.turns += turn
                self._same |= dict(zip(map(int, op.outputs), values, strict=True))
                return
            values = self._add_branch(options.bodySubgraphIndex, values)
        # It depends on data, or is too long.
        del self.ops[before:]
        self.ops.append(op)
        self.has_loops = True

    def _add_branch(self, number: int, inputs: list[int]) -> list[int]:
        """Adds the ops of a graph that is called with these tensors; returns the tensors of its results."""
        graph = self._model.subgraphs[number]
        place = dict(zip(map(int, graph.inputs), inputs, strict=True))
        for index, tensor in enumerate(graph.tensors):
            if index not in place:
                self._tensors.append(copy.copy(tensor))
                place[index] = len(self._tensors) - 1
        ops = []
        for op in graph.operators:
            moved = copy.copy(op)
            moved.inputs = [place.get(int(index), -1) for index in op.inputs]
            moved.outputs = [place[int(index)] for index in op.outputs]
            ops.append(moved)
        self.add(ops)
        return [self.final(place[int(index)]) for index in graph.outputs]
