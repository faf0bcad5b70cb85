"""Makes constants of inputs that always have one value, such as a sample rate that an If asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import ml_dtypes
import numpy as np

from bmc import golden
from bmc.dtype import DType
from bmc.errors import BmcError
from bmc.frontends import onnx_codes
from bmc.frontends.onnx_file import OnnxFile


def pinned(file: OnnxFile, constants: Mapping[str, float]) -> OnnxFile:
    """Returns a model without these inputs, whose values it has as initializers; dynamic dimensions become 1.

    Raises:
      BmcError: there is no such input, or its type does not hold the value.
    """
    if not constants:
        return file
    from onnx import ModelProto, numpy_helper

    model = ModelProto()
    model.CopyFrom(file.model)
    for name, value in constants.items():
        info = golden.require_input(name, file.inputs)
        shape = tuple(1 if dim is None else dim for dim in info.shape)
        (declared,) = (item for item in model.graph.input if item.name == name)
        kind = onnx_codes.narrow(declared.type.tensor_type.elem_type)
        if not _holds(info.dtype, value):
            raise BmcError("bad-option", f"input {info.describe()} cannot be {value:g}")
        array = np.full(shape, value, info.dtype.numpy)
        if kind:
            array = onnx_codes.numbers(onnx_codes.checked(array, kind, name), kind)
        model.graph.input.remove(declared)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    inputs = tuple(info for info in file.inputs if info.name not in constants)
    return replace(file, model=model, inputs=inputs)


def _holds(dtype: DType, value: float) -> bool:
    """Whether an element may have the value, rounded if it is a float."""
    if dtype.is_float:
        return not math.isfinite(value) or abs(value) <= float(ml_dtypes.finfo(dtype.numpy).max)
    if not math.isfinite(value) or value != int(value):
        return False
    limits = np.iinfo(dtype.numpy) if dtype.numpy.kind in "iu" else None
    return limits.min <= value <= limits.max if limits else value in (0, 1)
