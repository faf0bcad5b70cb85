"""Makes constants of inputs that always have one value, such as a sample rate that an If asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bmc import golden
from bmc.errors import BmcError
from bmc.frontends.onnx_file import OnnxFile


def pinned(file: OnnxFile, constants: Mapping[str, float]) -> OnnxFile:
    """Returns a model without these inputs, whose values it has as initializers.

    Raises:
      BmcError: there is no such input, its shape is dynamic, or its type does not hold the value.
    """
    if not constants:
        return file
    from onnx import ModelProto, numpy_helper

    model = ModelProto()
    model.CopyFrom(file.model)
    for name, value in constants.items():
        info = golden.require_input(name, file.inputs)
        shape = tuple(1 if dim is None else dim for dim in info.shape)
        try:
            array = np.full(shape, value, info.dtype.numpy)
        except OverflowError:
            array = np.full(shape, 0, info.dtype.numpy)
        if not info.dtype.is_float and not np.all(array == value):
            raise BmcError("bad-option", f"input {info.describe()} cannot be {value:g}")
        (declared,) = (item for item in model.graph.input if item.name == name)
        model.graph.input.remove(declared)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    inputs = tuple(info for info in file.inputs if info.name not in constants)
    return replace(file, model=model, inputs=inputs)
