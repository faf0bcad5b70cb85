"""Makes ordinary weights of an .onnx model's sparse ones, which IREE's importer does not know."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bmc import limits
from bmc.errors import BmcError
from bmc.limits import Limits


def densify(model: Any, source: str, allowed: Limits) -> None:
    """Replaces the sparse initializers of a ModelProto, and the sparse values of its Constant nodes.

    Args:
      model: a model that onnx accepts.
      source: name of the file.
      allowed: has the largest number of bytes of a tensor.

    Raises:
      BmcError: a tensor would have more bytes, or its indices are not within its shape.
    """
    graph = model.graph
    for sparse in graph.sparse_initializer:
        graph.initializer.append(_dense(sparse, source, allowed))
    del graph.sparse_initializer[:]
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "sparse_value":
                dense = _dense(attribute.sparse_tensor, source, allowed)
                attribute.Clear()
                attribute.name, attribute.type = "value", attribute.TENSOR
                attribute.t.CopyFrom(dense)


def _dense(sparse: Any, source: str, allowed: Limits) -> Any:
    from onnx import numpy_helper

    name, shape = sparse.values.name, tuple(sparse.dims)
    values, indices = map(numpy_helper.to_array, (sparse.values, sparse.indices))
    needed = math.prod(shape) * values.itemsize
    if needed > allowed.tensor_bytes:
        raise limits.exceeded(
            "tensor_bytes",
            needed,
            f"sparse tensor '{name}' in '{source}' has {needed:,} bytes, more than {allowed.tensor_bytes:,}",
        )
    dense = np.zeros(shape, values.dtype)
    try:
        # Either one number for each element, counted in rows, or one for each axis.
        places = np.unravel_index(indices, shape) if indices.ndim == 1 else tuple(indices.T)
        dense[places] = values
    except (IndexError, ValueError) as error:
        raise BmcError(
            "bad-file",
            f"sparse tensor '{name}' in '{source}' has values outside its shape {list(shape)}",
            hint="export the model again, or fetch the whole file",
        ) from error
    return numpy_helper.from_array(dense, name)
