"""Mends what LiteRT refuses and other runtimes run: a number that nothing reads has a value that it should not have."""

from __future__ import annotations

from bmc.errors import BmcError
from bmc.frontends import tflite_schema


def is_formality(error: BmcError) -> bool:
    """Whether LiteRT refuses a file for the dimension along which a tensor is quantized."""
    return "quantized_dimension must be" in error.message


def mended(data: bytes, name: str) -> tuple[bytes, str]:
    """Returns the file in which each tensor of one scale is quantized along dimension 0, and a note that says so.

    Args:
      data: a file that LiteRT refuses for such a dimension, after it has verified its structure.
      name: its name, for the note.
    """
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    changed = []
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            quantization = tensor.quantization
            if quantization is None or quantization.scale is None:
                continue
            outside = not 0 <= quantization.quantizedDimension < len(tflite_schema.shape(tensor))
            if outside and len(quantization.scale) == 1:
                quantization.quantizedDimension = 0
                changed.append(tflite_schema.text(tensor.name))
    note = (
        f"'{name}' says of {len(changed)} tensors, such as '{changed[0]}', that they are quantized along a dimension"
        " that they do not have, for which LiteRT refuses it; they have one scale, so this means nothing"
        if changed
        else ""
    )
    return tflite_schema.pack(model, len(data)), note
