"""Numbers of an .onnx model that IREE does not compute with, as bytes: integers of 2 and 4 bits, floats of 4 to 8.

An integer is the int8 or uint8 of the same value, and a float the uint8 that has its bits in the low places: the
runtime and its headers need no such types. All NaNs become the same one, because CPUs differ in the sign of those
that they compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bmc import samples, spec
from bmc.artifacts import TensorInfo
from bmc.dtype import Array, DType
from bmc.errors import BmcError
from bmc.golden import Declared

_INTEGERS = {"int2": np.int8, "int4": np.int8, "uint2": np.uint8, "uint4": np.uint8}
_ZERO_POINTS = {DType.I8: 0, DType.U8: 128}
_FLOATS = ("float4_", "float6_", "float8_")


def narrow(element: int) -> np.dtype[Any] | None:
    """Returns the NumPy type of such an element type, by ONNX's number for it; None for any other one."""
    from onnx import helper

    try:
        dtype: np.dtype[Any] = np.dtype(helper.tensor_dtype_to_np_dtype(element))
    except KeyError:
        return None
    return dtype if _is_narrow(dtype) else None


def of_model(values: Any) -> dict[str, np.dtype[Any]]:
    """Returns the NumPy types of those of a graph's inputs or outputs that are such tensors, by name."""
    found = {value.name: narrow(value.type.tensor_type.elem_type) for value in values}
    return {name: dtype for name, dtype in found.items() if dtype is not None}


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether such a type is one of floats."""
    return dtype.name.startswith(_FLOATS)


def stored(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type of the bytes that numbers of such a type become; any other type stays."""
    if not _is_narrow(dtype):
        return dtype
    return np.dtype(_INTEGERS.get(dtype.name, np.uint8))


def codes(array: Any) -> Any:
    """Returns the bytes for numbers of such a type; any other array stays."""
    dtype = array.dtype
    if not _is_narrow(dtype):
        return array
    if not is_float(dtype):
        return array.astype(stored(dtype))
    found: Array = np.ascontiguousarray(array).view(np.uint8).reshape(array.shape)
    return np.where(np.isnan(array.astype(np.float32)), np.uint8(nan(dtype)), found)


def numbers(array: Array, dtype: np.dtype[Any] | None) -> Array:
    """Returns the numbers of such a type that bytes stand for; with None, the array."""
    if dtype is None:
        return array
    return array.view(dtype) if is_float(dtype) else array.astype(dtype)


def all_of(dtype: np.dtype[Any]) -> Array:
    """Returns the numbers of a type of floats as f32, in the order of their codes."""
    import ml_dtypes

    return np.arange(2 ** ml_dtypes.finfo(dtype).bits, dtype=np.uint8).view(dtype).astype("f4")


def nan(dtype: np.dtype[Any]) -> int:
    """Returns the code that NaN becomes. A type without NaN gets its negative zero, as ml_dtypes has it."""
    return int(np.array([np.nan], np.float32).astype(dtype).view(np.uint8)[0])


def bounds(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Returns the least and the largest byte of integers, or of floats that are finite and not negative."""
    import ml_dtypes

    if not is_float(dtype):
        info = ml_dtypes.iinfo(dtype)
        return int(info.min), int(info.max)
    table = all_of(dtype)
    return 0, int(np.argmax(np.where(np.isfinite(table), table, -1)))


def taken(model: spec.ModelSpec, inputs: Sequence[Declared], values: Any) -> spec.ModelSpec:
    """Returns the user's ModelSpec with bytes in its cases, which may also have such numbers of ml_dtypes.

    Args:
      model: with or without cases.
      inputs: the model's inputs.
      values: those of its graph.

    Raises:
      BmcError: a byte stands for no number of the input's type.
    """
    types = [of_model(values).get(info.name) for info in inputs]
    if not any(types):
        return model
    names = [info.name for info in inputs]
    ranges = model.ranges or (None,) * len(inputs)
    if len(ranges) == len(inputs):
        within = zip(ranges, types, strict=True)
        ranges = tuple(own or (bounds(dtype) if dtype else None) for own, dtype in within)
    return replace(
        model,
        cases=tuple(_bytes(case, names, types) for case in model.cases),
        calibration=tuple(_bytes(case, names, types) for case in model.calibration),
        ranges=ranges,
    )


def checked(array: Array, dtype: np.dtype[Any], name: str) -> Array:
    """Returns an input's bytes for numbers of ml_dtypes or bytes; raises BmcError if one stands for no number."""
    found: Array = codes(array)
    low, high = (0, len(all_of(dtype)) - 1) if is_float(dtype) else bounds(dtype)
    if found.size and not low <= found.min() <= found.max() <= high:
        raise BmcError(
            "bad-spec",
            f"input {name} gets bytes from {found.min()} to {found.max()}, but those of {dtype.name} are {low} to"
            f" {high}",
            hint="give numbers of ml_dtypes, or bytes within that",
        )
    again: Array = codes(numbers(found, dtype))
    return again


def made_up(inputs: Sequence[TensorInfo], values: Any, *, quantized: bool) -> tuple[spec.Case, ...]:
    """Returns cases for a model that has none. Numbers are those of samples.cases().

    Args:
      inputs, values: those of taken().
      quantized: whether bytes are quantized numbers.
    """
    types = [of_model(values).get(info.name) for info in inputs]
    floats = [dtype if dtype and is_float(dtype) else None for dtype in types]
    sampled = [
        replace(info, dtype=DType.F32) if dtype else info
        for info, dtype in zip(inputs, floats, strict=True)
    ]
    points = [
        _ZERO_POINTS.get(info.dtype) if quantized and dtype is None else None
        for info, dtype in zip(sampled, types, strict=True)
    ]
    return tuple(
        tuple(
            codes(_nearest(array, dtype)) if dtype else array
            for array, dtype in zip(case, floats, strict=True)
        )
        for case in samples.cases(sampled, points if any(p is not None for p in points) else ())
    )


def notes(graph: Any) -> tuple[str, ...]:
    """Returns a sentence for the user about each input or output of a graph that is of such a type."""
    return tuple(
        f"{what} {name} of {dtype.name} is {stored(dtype).name}: each byte has the"
        f" {'bits' if is_float(dtype) else 'value'} of one element"
        for what, values in (("input", graph.input), ("output", graph.output))
        for name, dtype in of_model(values).items()
    )


def _is_narrow(dtype: np.dtype[Any]) -> bool:
    return dtype.name in _INTEGERS or dtype.name.startswith(_FLOATS)


def _nearest(numbers: Array, dtype: np.dtype[Any]) -> Array:
    """Returns the numbers of a type that has neither infinities nor, perhaps, a zero or a sign."""
    import ml_dtypes

    info = ml_dtypes.finfo(dtype)
    least = max(float(info.min), -float(info.max))
    sized = np.abs(numbers) if least >= 0 else numbers
    return np.clip(sized, least, float(info.max)).astype(dtype)


def _bytes(
    case: spec.Case, names: Sequence[str], types: Sequence[np.dtype[Any] | None]
) -> spec.Case:
    if len(case) != len(names):
        return case  # The check of cases says so.
    return tuple(
        checked(array, dtype, name) if dtype and array.dtype in (dtype, stored(dtype)) else array
        for array, name, dtype in zip(case, names, types, strict=True)
    )
