"""Checks what LiteRT's verifier does not: that a .tflite file's indices of tensors, buffers and ops are valid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bmc.errors import BmcError

# Stands for an optional operand that is absent.
_ABSENT = -1


def check(model: Any, name: str) -> None:
    """Checks a ModelT before any of its indices are used.

    Raises:
      BmcError: an index is out of range.
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
