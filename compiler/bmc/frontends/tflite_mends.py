"""Mends what LiteRT refuses and other runtimes run: numbers that nothing reads, or that can only have one value."""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.errors import BmcError
from bmc.frontends import tflite_build, tflite_schema

# Ops that are told the shape of their result, and the place of that operand.
_SIZED = {"RESHAPE": 1, "TRANSPOSE_CONV": 0}


def is_formality(error: BmcError) -> bool:
    """Whether LiteRT refuses a file for the dimension along which a tensor is quantized."""
    return "quantized_dimension must be" in error.message


def mended(data: bytes, name: str) -> tuple[bytes, str]:
    """Quantizes tensors of one scale or one dimension along dimension 0; returns the file and a note that says so.

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
            dims, scales = tflite_schema.shape(tensor), len(quantization.scale)
            outside = not 0 <= quantization.quantizedDimension < len(dims)
            if outside and (scales == 1 or dims == (scales,)):
                quantization.quantizedDimension = 0
                changed.append(tflite_schema.text(tensor.name))
    note = (
        f"'{name}' says of {len(changed)} tensors, such as '{changed[0]}', that they are quantized along a dimension"
        " that they do not have, for which LiteRT refuses it; each has one scale or one dimension, so it means nothing"
        if changed
        else ""
    )
    return tflite_schema.pack(model, len(data)), note


def scale_zeros(model: Any, name: str) -> str:
    """Gives constants whose scale is zero that of an operand beside them; returns a note.

    Such a constant stands for zeros, and TensorFlow's converter writes it for zeros of int16. LiteRT aborts.

    Args:
      model: the model, a ModelT that is changed.
      name: name of the file, for the note.
    """
    scaled = []
    for graph in model.subgraphs:
        zeros = {
            index
            for index, tensor in enumerate(graph.tensors)
            if tflite_schema.has_scale_of_zero(tensor)
            and model.buffers[tensor.buffer].data is not None
        }
        for op in graph.operators if zeros else ():
            beside = [graph.tensors[i] for i in op.inputs if i >= 0 and i not in zeros]
            scales = [
                each.quantization.scale for each in beside if tflite_schema.is_quantized(each)
            ]
            for index in zeros.intersection(map(int, op.inputs)) if scales else ():
                zeros.remove(index)
                tensor = graph.tensors[index]
                tensor.quantization.scale, tensor.quantization.zeroPoint = [scales[0][0]], [0]
                kind = str(tflite_schema.weight_type(tensor))
                nothing = np.zeros(tflite_schema.shape(tensor), kind)
                tensor.buffer = tflite_build.add_buffer(model, nothing)
                scaled.append(f"'{tflite_schema.text(tensor.name)}'")
    return (
        f"'{name}' has constants with a scale of 0, {', '.join(scaled)}, on which LiteRT aborts;"
        " they are zeros with another scale"
        if scaled
        else ""
    )


def fold_sizes(model: Any, name: str) -> str:
    """Makes constants of inputs that only say the shape of a result whose shape the file says; returns a note.

    LiteRT takes any shape from such an input; a runtime without a heap has room for one alone.

    Args:
      model: the model, a ModelT that is changed.
      name: name of the file, for the note.
    """
    graph = model.subgraphs[0]
    folded = []
    for index in [each for each in graph.inputs if each not in graph.outputs]:
        readers = [op for op in graph.operators if index in op.inputs]
        places = [_SIZED.get(tflite_schema.op_kind(model, op)) for op in readers]
        if any(
            place is None or op.inputs[place] != index
            for op, place in zip(readers, places, strict=True)
        ):
            continue
        results = [graph.tensors[op.outputs[0]] for op in readers]
        shapes = {tflite_schema.shape(result) for result in results}
        if len(shapes) != 1:
            continue
        (shape,) = shapes
        tensor = graph.tensors[index]
        is_open = any(
            result.shapeSignature is not None and -1 in result.shapeSignature for result in results
        )
        if is_open or tflite_schema.shape(tensor) != (len(shape),):
            continue
        tensor.buffer = tflite_build.add_buffer(model, np.array(shape, np.int32))
        graph.inputs = [each for each in graph.inputs if each != index]
        for signature in model.signatureDefs or []:
            signature.inputs = [each for each in signature.inputs if each.tensorIndex != index]
        folded.append(f"'{tflite_schema.text(tensor.name)}' to {list(shape)}")
    return (
        f"'{name}' takes shapes of results as inputs; bmc set {', '.join(folded)}, as its tensors say"
        if folded
        else ""
    )
