"""Resizes to the nearest pixel in the form of TensorFlow 1, which the converter to TOSA computes as the newer form.

The old form takes pixel floor(i * old / new), the newer one floor((i + 1/2) * old / new). They are the same where the
new size is a multiple of the old one, and the converter gets the newer form right. tflite_own_moves.py has the others.
"""

from __future__ import annotations

from typing import Any

from bmc.frontends import tflite_schema

_OP = "RESIZE_NEAREST_NEIGHBOR"


def is_multiple(old: Any, new: Any) -> bool:
    """Whether both sizes of a result are multiples of those of the image."""
    return not any(after % before for before, after in zip(old, new, strict=True))


def centered(data: bytes) -> bytes:
    """Returns a file in which such ops have the newer form; `data` is the file with static shapes."""
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    changed = False
    for graph in model.subgraphs:
        for op in graph.operators:
            options = op.builtinOptions
            if tflite_schema.op_kind(model, op) != _OP or options.alignCorners:
                continue
            image, result = (graph.tensors[index] for index in (op.inputs[0], op.outputs[0]))
            if not options.halfPixelCenters and is_multiple(image.shape[1:3], result.shape[1:3]):
                options.halfPixelCenters = changed = True
    return tflite_schema.pack(model, len(data)) if changed else data
