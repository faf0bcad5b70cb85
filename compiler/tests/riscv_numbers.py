"""What vector instructions compute, in numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


def _upper_half(a: Any, b: Any) -> Any:
    """That of the product of unsigned numbers with as many bits as `a` has."""
    bits = 8 * a.dtype.itemsize
    factors = [np.asarray(each).astype(np.int64) % 2**bits for each in (a, b)]
    return ((factors[0].astype(np.uint64) * factors[1].astype(np.uint64)) >> bits).astype(a.dtype)


BINARY: dict[str, Any] = {
    "vadd": np.add, "vsub": np.subtract, "vmul": np.multiply, "vand": np.bitwise_and,
    "vor": np.bitwise_or, "vxor": np.bitwise_xor, "vmax": np.maximum, "vmin": np.minimum,
    "vrsub": lambda a, b: b - a, "vsll": lambda a, b: a << (b & 31), "vsra": lambda a, b: a >> (b & 31),
    "vsrl": lambda a, b: _shifted(a, np.asarray(b)),
    "vmulhu": _upper_half,
    "vmulh": lambda a, b: (a.astype(np.int64) * b >> 32).astype(np.int32),
    "vsmul": lambda a, b: saturated(a.astype(np.int64) * b + 2**30 >> 31, np.int32),
    "vssra": lambda a, b: rounded(a, b & 31).astype(np.int32),
    "vsadd": lambda a, b: saturated(a.astype(np.int64) + b, a.dtype),
    "vfadd": np.add, "vfsub": np.subtract, "vfmul": np.multiply, "vfdiv": np.divide,
    "vfmax": np.fmax, "vfmin": np.fmin,
    "vfrsub": lambda a, b: b - a, "vfrdiv": lambda a, b: b / a,
    "vfsgnjn": lambda a, b: np.copysign(a, -b),
}  # fmt: skip
# They round as vxrm says.
FIXED_POINT = {"vsmul", "vssra"}
MASKS: dict[str, Any] = {
    "vmflt": np.less, "vmfgt": np.greater, "vmfle": np.less_equal, "vmfne": np.not_equal, "vmsltu": np.less,
    "vmsgt": np.greater,
}  # fmt: skip


def _shifted(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Shifts bits right, and zeros in."""
    unsigned = a.view(f"u{a.itemsize}")
    shifted: np.ndarray[Any, Any] = unsigned >> (b.astype(unsigned.dtype) & (8 * a.itemsize - 1))
    return shifted.view(a.dtype)


def rounded(a: np.ndarray[Any, Any], shift: Any) -> np.ndarray[Any, Any]:
    """Divides by a power of two; rounds to nearest, and up in the middle."""
    half = np.left_shift(np.int64(1), np.asarray(shift, np.int64)) >> 1
    result: np.ndarray[Any, Any] = a.astype(np.int64) + half >> shift
    return result


def saturated(a: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """Limits integers to what a type can hold."""
    limits = np.iinfo(dtype)
    result: np.ndarray[Any, Any] = np.clip(a, limits.min, limits.max).astype(dtype)
    return result


# By name: the types of what is read and written.
CONVERSIONS: dict[str, tuple[Any, Any]] = {
    "vfcvt.f.x.v": (np.int32, np.float32),
    "vfcvt.rtz.x.f.v": (np.float32, np.int32),
    "vfncvt.f.f.w": (np.float32, np.float16),
    "vfncvtbf16.f.f.w": (np.float32, ml_dtypes.bfloat16),
    "vfwcvt.f.f.v": (np.float16, np.float32),
    "vfwcvtbf16.f.f.v": (ml_dtypes.bfloat16, np.float32),
}


def estimated_reciprocal(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What vfrec7 returns for finite positive normal numbers: 7 bits of the inverse of each interval's middle."""
    fraction, exponent = np.frexp(x)
    inverse = 1 / ((np.floor(fraction * 256) + 0.5) / 256)
    result: np.ndarray[Any, Any] = np.ldexp(np.rint(inverse * 128) / 128, -exponent)
    return result.astype(np.float32)
