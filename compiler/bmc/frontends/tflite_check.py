"""Checks what LiteRT's verifier does not.

The indices of tensors, buffers, ops and graphs must be valid, and ops that bmc itself replaces must have what it reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bmc.errors import BmcError
from bmc.frontends import tflite_schema

# Stands for an optional operand that is absent.
_ABSENT = -1
# Ops that bmc replaces: how many operands and results it reads, the class of their options, "" if it reads none, and
# those of the options that number a graph.
_REPLACED: dict[str, tuple[int, int, str, tuple[str, ...]]] = {
    "ASSIGN_VARIABLE": (2, 0, "", ()),
    "CALL_ONCE": (0, 0, "CallOnceOptionsT", ("initSubgraphIndex",)),
    "DENSIFY": (1, 1, "", ()),
    "IF": (1, 0, "IfOptionsT", ("thenSubgraphIndex", "elseSubgraphIndex")),
    "LOG_SOFTMAX": (1, 1, "", ()),
    "NEG": (1, 1, "", ()),
    "ONE_HOT": (4, 1, "OneHotOptionsT", ()),
    "READ_VARIABLE": (1, 1, "", ()),
    "SVDF": (5, 1, "SVDFOptionsT", ()),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (1, 1, "UnidirectionalSequenceLSTMOptionsT", ()),
    "VAR_HANDLE": (0, 1, "VarHandleOptionsT", ()),
}


def check(model: Any, name: str) -> None:
    """Checks a ModelT before any of its indices are used.

    Raises:
      BmcError: an index is out of range, or an op lacks an operand or its options.
    """
    buffers, codes = len(_list(model.buffers)), len(_list(model.operatorCodes))
    for graph in _list(model.subgraphs):
        tensors = _list(graph.tensors)
        ops = _list(graph.operators)
        operands = [i for op in ops for i in _list(op.inputs) if i != _ABSENT]
        results = [i for op in ops for i in _list(op.outputs)]
        _require("buffer", (tensor.buffer for tensor in tensors), buffers, name)
        _require("operator", (op.opcodeIndex for op in ops), codes, name)
        for indices in (_list(graph.inputs), _list(graph.outputs), operands, results):
            _require("tensor", indices, len(tensors), name)
        for op in ops:  # Later readers expect empty lists for what is absent.
            op.inputs, op.outputs = _list(op.inputs), _list(op.outputs)
            _check_replaced(model, op, name)


def _check_replaced(model: Any, op: Any, name: str) -> None:
    kind = tflite_schema.op_kind(model, op)
    inputs, outputs, options, graphs = _REPLACED.get(kind, (0, 0, "", ()))
    is_complete = len(op.inputs) >= inputs and len(op.outputs) >= outputs
    if not is_complete or options not in ("", type(op.builtinOptions).__name__):
        raise BmcError(
            "bad-file",
            f"'{name}' has an op '{kind}' without its operands or options",
            hint="convert the model again, or fetch the whole file",
        )
    numbers = (getattr(op.builtinOptions, graph) for graph in graphs)
    _require("graph", numbers, len(model.subgraphs), name)


def _list(items: Any) -> Any:
    return [] if items is None else items


def _require(what: str, indices: Iterable[int], count: int, name: str) -> None:
    for index in indices:
        if not 0 <= index < count:
            raise BmcError(
                "bad-file",
                f"'{name}' uses {what} {index}, but has only {count}",
                hint="convert the model again, or fetch the whole file",
            )
