"""Element types: the values of bm_dtype_t with their names in NumPy, MLIR and IREE."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import numpy.typing as npt

from bmc.errors import BmcError

Array = npt.NDArray[Any]


class DType(enum.IntEnum):
    """The values of bm_dtype_t (runtime_bm/base/dtype.h)."""

    BOOL = 1
    I8 = 2
    U8 = 3
    I16 = 4
    U16 = 5
    I32 = 6
    U32 = 7
    I64 = 8
    U64 = 9
    F16 = 10
    BF16 = 11
    F32 = 12
    F64 = 13

    @property
    def byte_count(self) -> int:
        return _BYTES[self]

    @property
    def is_float(self) -> bool:
        return self >= DType.F16

    @property
    def numpy(self) -> np.dtype[Any]:
        """The dtype of arrays. NumPy lacks bfloat16, which comes from ml_dtypes."""
        if self is DType.BF16:
            import ml_dtypes  # What never sees a bfloat16 needs no more than NumPy.

            found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return found
        return np.dtype(_NUMPY[self])

    @property
    def stored(self) -> np.dtype[Any]:
        """The dtype of arrays of users who may lack ml_dtypes: a bfloat16 is a uint16 with its bits."""
        return np.dtype(np.uint16) if self is DType.BF16 else self.numpy


_BYTES = {
    DType.BOOL: 1, DType.I8: 1, DType.U8: 1, DType.I16: 2, DType.U16: 2, DType.I32: 4, DType.U32: 4,
    DType.I64: 8, DType.U64: 8, DType.F16: 2, DType.BF16: 2, DType.F32: 4, DType.F64: 8,
}  # fmt: skip

_NUMPY = {
    DType.BOOL: "bool", DType.I8: "int8", DType.U8: "uint8", DType.I16: "int16", DType.U16: "uint16",
    DType.I32: "int32", DType.U32: "uint32", DType.I64: "int64", DType.U64: "uint64",
    DType.F16: "float16", DType.BF16: "bfloat16", DType.F32: "float32", DType.F64: "float64",
}  # fmt: skip

_MLIR = {
    "i1": DType.BOOL, "i8": DType.I8, "si8": DType.I8, "ui8": DType.U8, "i16": DType.I16, "si16": DType.I16,
    "ui16": DType.U16, "i32": DType.I32, "si32": DType.I32, "ui32": DType.U32, "i64": DType.I64,
    "si64": DType.I64, "ui64": DType.U64, "f16": DType.F16, "bf16": DType.BF16, "f32": DType.F32,
    "f64": DType.F64,
}  # fmt: skip

# iree_hal_element_type_t has the numerical type in the top byte and the bit count in the low byte.
_HAL_NUMERICAL = {0x10: "i", 0x11: "si", 0x12: "ui", 0x13: "i", 0x21: "f", 0x22: "bf"}


def from_numpy(array: Array, tensor: str = "") -> DType:
    """Returns the element type of a NumPy array.

    Args:
      array: the array.
      tensor: its name for the error, "" for none.

    Raises:
      BmcError: the runtime does not support the element type.
    """
    name = array.dtype.name
    for dtype, numpy_name in _NUMPY.items():
        if numpy_name == name:
            return dtype
    # NumPy stores strings as objects.
    of = f" of {tensor}" if tensor else ""
    raise BmcError(
        "unsupported-dtype",
        f"element type {'string' if name == 'object' else name}{of} cannot be used for inputs or"
        " outputs",
    )


def from_mlir(name: str) -> DType:
    """Returns the element type for a name in MLIR ("f32", "i8", "ui8"); raises BmcError if unknown."""
    if name not in _MLIR:
        raise BmcError(
            "unsupported-dtype", f"element type {name} cannot be used for inputs or outputs"
        )
    return _MLIR[name]


def from_hal(element_type: int) -> DType:
    """Returns the element type for an iree_hal_element_type_t value; raises BmcError if unknown."""
    bits = element_type & 0xFF
    prefix = _HAL_NUMERICAL.get(element_type >> 24)
    name = "i1" if element_type >> 24 == 0x13 else f"{prefix}{bits}"
    if name not in _MLIR:
        raise BmcError("unsupported-dtype", f"IREE element type {element_type:#x} cannot be used")
    return _MLIR[name]


def is_float(array: Array) -> bool:
    """Whether an array's elements are floats. NumPy takes a bfloat16 for bytes without a meaning."""
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def loaded(array: Array) -> Array:
    """Returns an array of a .npy file, in which NumPy writes a bfloat16 as two bytes without a meaning."""
    return array.view(DType.BF16.numpy) if array.dtype == np.dtype("V2") else array


def nearest_f16(numbers: Array) -> Array:
    """Returns the f16 nearest to each number. Only infinities become any: others have at most the largest f16."""
    largest = float(np.finfo(np.float16).max)
    return np.where(np.isinf(numbers), numbers, np.clip(numbers, -largest, largest)).astype("<f2")


def why_unreadable(error: Exception) -> str:
    """Returns in a short line why NumPy cannot read a file: its own words may be long, or advise to run the file."""
    line = next(iter(str(error).splitlines()), "") or type(error).__name__
    return "it has Python objects, or nothing of NumPy's" if "pickle" in line else line[:200]


# The bits of an f16 make an f32 without instructions for f16: sign-extended to 32 bits, shifted left by this, and
# without the copies of its sign, it is too small by this factor.
F16_SHIFT, F16_MASK, F16_FACTOR = 13, 0x8FFFE000 - 2**32, 2.0**112
