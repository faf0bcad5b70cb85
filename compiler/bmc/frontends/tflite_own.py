"""Ops that bmc writes as MLIR, where Arm's converter to TOSA lacks them or has another answer than LiteRT.

The converter passes on a custom op as it is. So such an op becomes a custom one that carries the text of a function,
which takes its place in the converter's output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bmc.frontends import (
    tflite_build,
    tflite_counts,
    tflite_own_boxes,
    tflite_own_bytes,
    tflite_own_logarithms,
    tflite_own_moves,
    tflite_own_numbers,
    tflite_own_spectra,
    tflite_own_sums,
    tflite_own_windows,
    tflite_resizes,
    tflite_schema,
    tflite_tables,
    tflite_text,
)
from bmc.frontends.tflite_own_text import Operation

_CUSTOM = "bmc"
# What write the texts of ops, or none of an op that they leave to the converter.
_WRITERS: tuple[dict[str, Callable[[Operation], str]], ...] = (
    tflite_counts.KINDS,
    tflite_own_boxes.KINDS,
    tflite_own_bytes.KINDS,
    tflite_own_logarithms.KINDS,
    tflite_own_moves.KINDS,
    tflite_own_numbers.KINDS,
    tflite_own_sums.KINDS,
    tflite_own_windows.KINDS,
    tflite_resizes.KINDS,
    tflite_tables.KINDS,
)


def write(data: bytes) -> bytes:
    """Returns a file in which such ops carry their texts; `data` is the file with static shapes."""
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    found = False
    for graph in model.subgraphs:
        for number, op in enumerate(graph.operators):
            if text := _text(model, graph, op):
                graph.operators[number] = _custom(model, graph, op, text)
                found = True
    return tflite_schema.pack(model, len(data)) if found else data


def corrections(op: Any) -> Iterator[Callable[[], None]]:
    """Yields the change of an operation of the converter's that stands for such an op."""
    from iree.compiler import ir

    # Other custom ops were refused.
    if op.name == "tosa.custom":
        yield partial(_replace, op, ir.StringAttr(op.attributes["implementation_attrs"]).value)
    if op.name == "tosa.rfft2d":
        shapes = (list(value.type.shape) for value in (op.operands[0], op.results[0]))
        yield partial(_replace, op, tflite_own_spectra.spectrum(*shapes))


def _text(model: Any, graph: Any, op: Any) -> str:
    kind = tflite_schema.op_kind(model, op)
    writers = [kinds[kind] for kinds in _WRITERS if kind in kinds]
    if not writers or (operation := Operation.of(model, graph, op)) is None:
        return ""
    return next(filter(None, (write(operation) for write in writers)), "")


def _custom(model: Any, graph: Any, op: Any, text: str) -> Any:
    made = tflite_build.op(model, "CUSTOM", [i for i in op.inputs if i >= 0], op.outputs)
    model.operatorCodes[-1].customCode = _CUSTOM.encode()
    made.customOptions = np.frombuffer(text.encode(), np.uint8)
    for index in (*made.inputs, *made.outputs):
        # Without a rank, a scalar is a tensor of any.
        graph.tensors[index].hasRank = True
    return made


def _replace(op: Any, text: str) -> None:
    made = tflite_text.insert_all(op, text, list(op.operands))
    for old, new in zip(op.results, made, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
