"""MediaPipe's own op Convolution2DTransposeBias becomes TFLite's TRANSPOSE_CONV, which has a bias as well by now.

It takes an image, weights and a bias; its options are the padding and two strides. Its output is as large as what the
weights cover, less the padding, while TRANSPOSE_CONV is told the size of its output.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from bmc.errors import BmcError
from bmc.frontends import tflite_build, tflite_schema

NAME = b"Convolution2DTransposeBias"
# Padding, stride of columns, stride of rows.
_OPTIONS = struct.Struct("<3i")
# Number of the padding in the options -> in TFLite's schema.
_PADDINGS = {1: "SAME", 2: "VALID"}


def replace(model: Any, name: str) -> bool:
    """Replaces the ops in a ModelT; returns whether there were any.

    Args:
      model: the model, which is changed.
      name: name of the file, for messages.

    Raises:
      BmcError: the options of an op, or its tensors, are not understood.
    """
    codes = [index for index, code in enumerate(model.operatorCodes) if code.customCode == NAME]
    for index in codes:
        _set_code(model.operatorCodes[index])
    for graph in model.subgraphs:
        for op in graph.operators:
            if op.opcodeIndex in codes:
                _replace(model, graph, op, name)
    return bool(codes)


def _set_code(code: Any) -> None:
    from ai_edge_litert.schema_py_generated import BuiltinOperator

    code.builtinCode = code.deprecatedBuiltinCode = BuiltinOperator.TRANSPOSE_CONV
    # The first version with a bias is 3.
    code.customCode, code.version = None, 3


def _replace(model: Any, graph: Any, op: Any, name: str) -> None:
    from ai_edge_litert.schema_py_generated import BuiltinOptions, Padding, TransposeConvOptionsT

    try:
        padding, stride_w, stride_h = _OPTIONS.unpack(bytes(bytearray(op.customOptions)))
        image, weights, bias = op.inputs
        (batch, *sizes, _), (channels, *filters, _) = (
            tflite_schema.shape(graph.tensors[index]) for index in (image, weights)
        )
        scheme = _PADDINGS[padding]
        if min(stride_w, stride_h) < 1 or len(sizes) != 2 or len(filters) != 2:
            raise ValueError(sizes)
    except (KeyError, TypeError, ValueError, struct.error):
        raise BmcError(
            "op-rejected",
            f"op '{NAME.decode()}' in '{name}' has options or tensors that bmc does not understand",
            hint=tflite_schema.OTHER_OPS,
        ) from None
    covered = [
        _covered(size, length, stride, scheme == "SAME")
        for size, length, stride in zip(sizes, filters, (stride_h, stride_w), strict=True)
    ]
    shape = np.array([batch, *covered, channels], np.int32)
    output = graph.tensors[op.outputs[0]]
    output.shape, output.shapeSignature = [int(size) for size in shape], None
    name_of_shape = tflite_schema.text(output.name) + "_shape"
    extent = tflite_build.add_constant(model, graph, name_of_shape, shape)
    options = TransposeConvOptionsT()
    options.padding, options.strideW, options.strideH = getattr(Padding, scheme), stride_w, stride_h
    op.builtinOptions, op.builtinOptionsType = options, BuiltinOptions.TransposeConvOptions
    op.customOptions = None
    op.inputs = [extent, weights, image, bias]


def _covered(size: int, length: int, stride: int, same: bool) -> int:
    """Returns the extent of the output for `size` pixels and weights of this length."""
    padding = max(0, length - (size - 1) % stride - 1) if same else 0
    return stride * (size - 1) + length - padding
