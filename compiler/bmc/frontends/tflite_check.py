"""Checks what LiteRT's verifier does not.

The indices of tensors, buffers, ops and graphs must be valid, and ops that bmc itself replaces must have what it reads.
No tensor may be read before it is made. Bytes behind the tables must lie in the file, where LiteRT's own check of their
place wraps around, and no graph may be part of itself, which LiteRT follows until it crashes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
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
    "CONV_3D_TRANSPOSE": (3, 1, "Conv3DOptionsT", ()),
    "CUMSUM": (2, 1, "CumsumOptionsT", ()),
    "DENSIFY": (1, 1, "", ()),
    "DIV": (2, 1, "DivOptionsT", ()),
    "GELU": (1, 1, "GeluOptionsT", ()),
    "IF": (1, 0, "IfOptionsT", ("thenSubgraphIndex", "elseSubgraphIndex")),
    "LOCAL_RESPONSE_NORMALIZATION": (1, 1, "LocalResponseNormalizationOptionsT", ()),
    "LOG_SOFTMAX": (1, 1, "", ()),
    "NEG": (1, 1, "", ()),
    "ONE_HOT": (4, 1, "OneHotOptionsT", ()),
    "READ_VARIABLE": (1, 1, "", ()),
    "RESIZE_BILINEAR": (2, 1, "ResizeBilinearOptionsT", ()),
    "RESIZE_NEAREST_NEIGHBOR": (2, 1, "ResizeNearestNeighborOptionsT", ()),
    "REVERSE_SEQUENCE": (2, 1, "ReverseSequenceOptionsT", ()),
    "SVDF": (5, 1, "SVDFOptionsT", ()),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (1, 1, "UnidirectionalSequenceLSTMOptionsT", ()),
    "VAR_HANDLE": (0, 1, "VarHandleOptionsT", ()),
}
# Those that bmc writes as MLIR, by how many operands and results it reads.
_WRITTEN = {
    (1, 1): (
        "ABS", "BITCAST", "COMPLEX_ABS", "ELU", "EXP", "HARD_SWISH", "L2_NORMALIZATION", "LOG", "LOGISTIC",
        "MATRIX_DIAG", "RSQRT", "SQRT", "TANH", "ZEROS_LIKE",
    ),
    (2, 1): (
        "ARG_MIN", "ATAN2", "EQUAL", "FILL", "FLOOR_DIV", "FLOOR_MOD", "GREATER", "GREATER_EQUAL", "LESS",
        "LESS_EQUAL", "MATRIX_SET_DIAG", "NOT_EQUAL", "REDUCE_PROD", "RIGHT_SHIFT", "SEGMENT_SUM", "SUM",
        "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_SUM",
    ),
    (1, 2): ("UNIQUE",),
    (2, 2): ("TOPK_V2",),
    (4, 1): ("SPARSE_TO_DENSE",),
    (5, 2): ("NON_MAX_SUPPRESSION_V4",),
    (6, 3): ("NON_MAX_SUPPRESSION_V5",),
}  # fmt: skip
_REPLACED |= {kind: (*counts, "", ()) for counts, kinds in _WRITTEN.items() for kind in kinds}
# Options of ops that run a graph.
_GRAPHS = (
    "thenSubgraphIndex", "elseSubgraphIndex", "condSubgraphIndex", "bodySubgraphIndex", "initSubgraphIndex",
)  # fmt: skip
_AGAIN = "convert the model again, or fetch the whole file"


def check(model: Any, name: str, size: int) -> None:
    """Checks a ModelT before any of its indices are used.

    Args:
      model: the ModelT.
      name: name of its file, for messages.
      size: bytes of the file.

    Raises:
      BmcError: an index is out of range, an op lacks an operand or its options, a tensor is read before it is made,
        bytes lie outside of the file, or a graph is part of itself.
    """
    _check_places(model, name, size)
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
        _check_order(model, graph, name)
    _check_graphs(model, name)


def _check_places(model: Any, name: str, size: int) -> None:
    """Checks where the bytes of buffers are that do not lie in the tables."""
    for number, buffer in enumerate(_list(model.buffers)):
        # 0 and 1 stand for no place.
        if buffer.offset > 1 and (buffer.offset > size or buffer.size > size - buffer.offset):
            raise BmcError(
                "bad-file", f"'{name}' has buffer {number} outside of the file", hint=_AGAIN
            )


def _check_order(model: Any, graph: Any, name: str) -> None:
    """Checks that every tensor has its elements before they are read: LiteRT would read what lies in memory.

    A custom op may have memory of its own among what it reads. Those that bmc does not know are refused by name.
    """
    tensors = _list(graph.tensors)
    known = {i for i, tensor in enumerate(tensors) if _has_elements(model, tensor)}
    known.update(_list(graph.inputs))
    for reads, made in [
        *(
            (() if tflite_schema.op_kind(model, op) == "CUSTOM" else op.inputs, op.outputs)
            for op in _list(graph.operators)
        ),
        (graph.outputs, ()),
    ]:
        for index in _list(reads):
            if index != _ABSENT and index not in known:
                read = tflite_schema.text(tensors[index].name)
                raise BmcError(
                    "bad-file", f"'{name}' reads '{read}' before an op makes it", hint=_AGAIN
                )
        known.update(made)


def _has_elements(model: Any, tensor: Any) -> bool:
    """Whether a tensor is a constant or a variable, or has no elements."""
    buffer = model.buffers[tensor.buffer]
    has_data = buffer.offset > 1 or len(_list(buffer.data)) > 0
    return has_data or tensor.isVariable or 0 in tflite_schema.shape(tensor)


def _check_graphs(model: Any, name: str) -> None:
    """Checks that no graph is part of itself."""
    below = {index: [*_run_by(graph)] for index, graph in enumerate(_list(model.subgraphs))}
    _require("graph", (index for named in below.values() for index in named), len(below), name)
    try:
        TopologicalSorter(below).prepare()
    except CycleError:
        raise BmcError(
            "bad-file",
            f"'{name}' has a graph that is part of itself: of its own loops, branches or calls",
            hint=_AGAIN,
        ) from None


def _run_by(graph: Any) -> Iterator[int]:
    """Yields the indices of the graphs that a graph's ops run."""
    for op in _list(graph.operators):
        options = (op.builtinOptions, getattr(op, "builtinOptions2", None))
        for option, key in itertools.product(options, _GRAPHS):
            if hasattr(option, key):
                yield getattr(option, key)


def _check_replaced(model: Any, op: Any, name: str) -> None:
    kind = tflite_schema.op_kind(model, op)
    inputs, outputs, options, graphs = _REPLACED.get(kind, (0, 0, "", ()))
    is_complete = len(op.inputs) >= inputs and len(op.outputs) >= outputs
    if not is_complete or options not in ("", type(op.builtinOptions).__name__):
        raise BmcError(
            "bad-file",
            f"'{name}' has an op '{kind}' without its operands or options",
            hint=_AGAIN,
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
                hint=_AGAIN,
            )
