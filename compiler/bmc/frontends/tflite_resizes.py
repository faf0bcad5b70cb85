"""Resizes to the nearest pixel in the form of TensorFlow 1, which the converter to TOSA computes as the newer form.

The old form takes pixel floor(i * old / new), the newer one floor((i + 1/2) * old / new). They are the same where the
new size is a multiple of the old one, and the converter gets the newer form right.
"""

from __future__ import annotations

from typing import Any

from bmc.errors import BmcError
from bmc.frontends import tflite_schema
from bmc.frontends.tflite_file import TfliteFile

_OP = "RESIZE_NEAREST_NEIGHBOR"


def centered(data: bytes, file: TfliteFile) -> bytes:
    """Returns a file of static shapes in which such ops have the newer form.

    Args:
      data: the file.
      file: the model, for its names.

    Raises:
      BmcError: the two forms differ for an op; the error names it.
    """
    outputs = file.outputs_of(_OP)
    if not outputs:
        return data
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    changed = False
    for graph in model.subgraphs:
        for op in graph.operators:
            result = graph.tensors[op.outputs[0]] if len(op.outputs) else None
            if result is None or tflite_schema.text(result.name) not in outputs:
                continue
            options = op.builtinOptions
            if options.alignCorners or options.halfPixelCenters:
                continue
            old, new = graph.tensors[op.inputs[0]].shape[1:3], result.shape[1:3]
            if any(after % before for before, after in zip(old, new, strict=True)):
                raise _differs(tflite_schema.text(result.name), old, new, file)
            options.halfPixelCenters = changed = True
    return tflite_schema.pack(model, len(data)) if changed else data


def _differs(tensor: str, old: Any, new: Any, file: TfliteFile) -> BmcError:
    sizes = " to ".join("x".join(map(str, size)) for size in (old, new))
    return BmcError(
        "op-rejected",
        f"the converter to TOSA gets op '{_OP}' without half_pixel_centers wrong, from {sizes}",
        where=f"{tensor} in {file.name}",
        hint="resize to a multiple of the size, or convert tf.image.resize of TensorFlow 2",
    )
