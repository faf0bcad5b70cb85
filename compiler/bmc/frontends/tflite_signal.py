"""Features of sound, in front of a .tflite file's other ops, as TensorFlow Lite for Microcontrollers computes them.

The converter to TOSA knows none of these ops and no unsigned numbers of 32 or 64 bits. So it gets the first numbers of
the input in place of the features, of which this makes them. What the subtraction of noise keeps becomes a state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from bmc.errors import BmcError
from bmc.frontends import tflite_build, tflite_schema, tflite_signal_ops, tflite_text
from bmc.frontends.tflite_file import TfliteFile
from bmc.frontends.tflite_signal_ops import Part
from bmc.frontends.tflite_signal_text import SignalText
from bmc.frontends.tflite_svdf import Kept

_STATE = "noise"


def found(file: TfliteFile) -> Iterator[BmcError]:
    """Yields the first op on sound that bmc does not know in its place."""
    if not tflite_signal_ops.has(file.model):
        return
    _, why, op = tflite_signal_ops.read(file.model, file.weights())
    if why:
        results = [
            tflite_schema.text(graph.tensors[index].name)
            for graph in file.model.subgraphs
            for index in op.outputs[:1]
            if any(each is op for each in graph.operators)
        ]
        yield BmcError(
            "op-rejected",
            f"bmc does not know op '{tflite_signal_ops.name(file.model, op)}' {why}",
            where="".join(f"{result} in {file.name}" for result in results),
            hint=tflite_schema.OTHER_OPS,
        )


def part(file: TfliteFile) -> Part | None:
    """Returns the part of a file in which found() finds nothing, None if it has none."""
    if not tflite_signal_ops.has(file.model):
        return None
    return tflite_signal_ops.read(file.model, file.weights())[0]


def has_state(file: TfliteFile) -> bool:
    known = part(file)
    return known is not None and known.channels > 0


def expand(data: bytes, name: str) -> tuple[bytes, list[Kept]]:
    """Returns the file with the first numbers of the input in place of the features, and what they keep.

    Args:
      data: the file with static shapes, in which found() finds nothing.
      name: its name, for messages.
    """
    from ai_edge_litert.schema_py_generated import AddOptionsT, ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    if not tflite_signal_ops.has(model):
        return data, []
    graph = model.subgraphs[0]
    constants = tflite_schema.constants(model, graph.tensors, name)
    known, _, _ = tflite_signal_ops.read(model, constants)
    assert known is not None
    made = tflite_schema.text(graph.tensors[known.made].name)

    def numbers(what: str, *values: int) -> int:
        array = np.array(values, np.int32)
        return tflite_build.add_constant(model, graph, f"{made}_{what}", array)

    flat = tflite_build.add_tensor(graph, f"{made}_flat", [known.sizes[known.given]], "int16")
    first = [flat, numbers("begin", 0), numbers("count", known.sizes[known.made])]
    shape = numbers("shape", known.sizes[known.given])
    ops = [
        tflite_build.op(model, "RESHAPE", [known.given, shape], [flat]),
        tflite_build.op(model, "SLICE", first, [known.made]),
    ]
    kept = []
    if known.channels:
        before, after = (
            tflite_build.add_tensor(graph, each, [known.channels], "int32")
            for each in (f"{made}_{_STATE}", _after(made))
        )
        ops.append(tflite_build.op(model, "ADD", [before] * 2, [after], options=AddOptionsT()))
        graph.inputs, graph.outputs = [*graph.inputs, before], [*graph.outputs, after]
        kept.append(Kept(_STATE, np.zeros(known.channels, np.int32)))
    graph.operators = [*ops, *graph.operators[len(known.ops) :]]
    model.signatureDefs = None
    return tflite_schema.pack(model, len(data)), kept


def _after(made: str) -> str:
    return f"{made}_{_STATE}_after"


def corrections(
    ops: Sequence[Any], name: Callable[[Any], str], file: TfliteFile
) -> Iterator[Callable[[], None]]:
    """Yields the change that makes the features.

    Args:
      ops: the converter's operations.
      name: returns the name of the tensor that one computes.
      file: the file.
    """
    known = part(file)
    if known is None:
        return
    made = tflite_schema.text(file.model.subgraphs[0].tensors[known.made].name)
    (features,) = (op for op in ops if op.name == "tosa.slice" and name(op) == made)
    kept = [op for op in ops if op.name == "tosa.add" and name(op) == _after(made)]
    yield partial(_replace, known, features, kept)


def _replace(known: Part, features: Any, kept: list[Any]) -> None:
    given = [_argument(features), *(_argument(op) for op in kept)]
    text = SignalText(known).function([str(value.type) for value in given])
    made = tflite_text.insert_all(features.parent.regions[0].blocks[0].operations[0], text, given)
    for op, result in zip((features, *kept), made, strict=True):
        op.results[0].replace_all_uses_with(result)
        op.erase()


def _argument(op: Any) -> Any:
    """Returns the argument of the function that an operation reads, which may be reshaped in between."""
    from iree.compiler import ir

    value = op.operands[0]
    while not isinstance(value.owner, ir.Block):
        value = value.owner.operands[0]
    return value
