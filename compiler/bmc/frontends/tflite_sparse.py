"""Sparse constants of a .tflite file become dense ones, which is what the converter to TOSA knows.

The values of a sparse constant are a tree. Each level is one dimension, in the order of `traversalOrder`, in which the
dimensions within blocks follow those of the tensor. A dense dimension has all its places; a sparse one has a list of
places for each place of the level above.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import tflite_build, tflite_schema

_DENSIFY = "DENSIFY"
# DimensionType.
_SPARSE = 1


def dense(data: bytes, name: str) -> bytes:
    """Returns the file with dense constants; raises what make_dense() does."""
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    return tflite_schema.pack(model, len(data)) if make_dense(model, name) else data


def make_dense(model: Any, name: str) -> bool:
    """Makes sparse constants of a ModelT dense, and removes ops that do so; returns whether there were any.

    Args:
      model: the model, which is changed.
      name: name of the file, for messages.

    Raises:
      BmcError: a constant is not what its lists of places say.
    """
    found = False
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            if tensor.sparsity is not None:
                found = True
                _make_dense(model, tensor, name)
        same = {
            int(op.outputs[0]): int(op.inputs[0])
            for op in graph.operators
            if tflite_schema.op_kind(model, op) == _DENSIFY
        }
        graph.operators = [op for op in graph.operators if same.keys().isdisjoint(op.outputs)]
        for op in graph.operators:
            op.inputs = [same.get(index, index) for index in op.inputs]
        graph.outputs = [same.get(index, index) for index in graph.outputs]
    return found


def _make_dense(model: Any, tensor: Any, name: str) -> None:
    data = model.buffers[tensor.buffer].data
    kind = tflite_schema.weight_type(tensor)
    shape = tflite_schema.shape(tensor)
    damaged = BmcError(
        "bad-file",
        f"'{name}' has a sparse constant whose values do not fit its shape:"
        f" {tflite_schema.text(tensor.name)}",
        hint="convert the model again, or fetch the whole file",
    )
    if data is None or kind is None:
        raise damaged
    values = np.asarray(data, np.uint8)
    try:
        dense = _dense(values.view(kind), shape, tensor.sparsity)
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError):
        raise damaged from None
    tensor.buffer, tensor.sparsity = tflite_build.add_buffer(model, dense), None


def _dense(values: Array, shape: tuple[int, ...], sparsity: Any) -> Array:
    """Returns the tensor of a list of values; raises ValueError or IndexError if these do not fit."""
    order = [int(dimension) for dimension in sparsity.traversalOrder]
    blocks = [] if sparsity.blockMap is None else [int(axis) for axis in sparsity.blockMap]
    rank = len(shape)
    if sorted(order) != list(range(rank + len(blocks))):
        raise ValueError(order)
    if len(sparsity.dimMetadata) != len(order) or values.size > math.prod(shape):
        raise ValueError(shape)
    # The extent of each dimension, blocks' last.
    sizes = dict.fromkeys(order, 0)
    for dimension, level in zip(order, sparsity.dimMetadata, strict=True):
        if level.format != _SPARSE:
            sizes[dimension] = int(level.denseSize)
    for block, axis in enumerate(blocks):
        sizes[axis] = shape[axis] // sizes[rank + block]
    for axis in range(rank):
        sizes[axis] = sizes[axis] if axis in blocks else shape[axis]
    for dimension, level in zip(order, sparsity.dimMetadata, strict=True):
        # LiteRT believes what is said here.
        if level.format != _SPARSE and level.denseSize != sizes[dimension]:
            raise ValueError(dimension)
    # Coordinates of all values, level by level.
    places: list[Array] = []
    count = 1
    for dimension, level in zip(order, sparsity.dimMetadata, strict=True):
        if level.format == _SPARSE:
            starts, indices = (
                np.asarray(vector.values, np.int64)
                for vector in (level.arraySegments, level.arrayIndices)
            )
            lengths = np.diff(starts)
            if len(lengths) != count or starts[0] != 0 or len(indices) != starts[-1]:
                raise ValueError(dimension)
        else:
            lengths = np.full(count, sizes[dimension])
            if count * sizes[dimension] > math.prod(shape):
                raise ValueError(dimension)
            indices = np.tile(np.arange(sizes[dimension]), count)
        places = [np.repeat(before, lengths) for before in places] + [indices]
        count = len(indices)
    at = dict(zip(order, places, strict=True))
    coordinates = [at[axis] for axis in range(rank)]
    for block, axis in enumerate(blocks):
        coordinates[axis] = coordinates[axis] * sizes[rank + block] + at[rank + block]
    if any((index < 0).any() for index in coordinates):
        raise ValueError("negative")
    dense: Array = np.zeros(shape, values.dtype)
    dense[tuple(coordinates)] = values
    return dense
