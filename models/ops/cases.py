"""Inputs and expected outputs of the MLIR operators, computed by NumPy."""

from __future__ import annotations

import numpy as np

from bmc.spec import Cases, Exact, Tolerance


def matmul_i8() -> Cases:
    """int8 [24, 64] x int8 [64, 40] -> int32 [24, 40]."""
    random = np.random.default_rng(0)
    lhs = random.integers(-128, 128, (24, 64), dtype=np.int8)
    rhs = random.integers(-128, 128, (64, 40), dtype=np.int8)
    expected = lhs.astype(np.int32) @ rhs.astype(np.int32)
    return Cases(cases=((lhs, rhs),), expected=((expected,),), tolerance=Exact())


def normalization() -> Cases:
    """f32 [4, 12], of which two rows are of equal numbers: the products cancel, and nothing but beta is left."""
    x = np.random.default_rng(0).standard_normal((4, 12)).astype(np.float32)
    x[1], x[2] = 1000, -77
    gamma = np.array([1, -0.1, 0.2, -0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.5, 1.1], np.float32)
    beta = np.arange(12, dtype=np.float32) / np.float32(10)
    mean = x.mean(1, keepdims=True)
    variance = np.square(x - mean).mean(1, keepdims=True)
    scale = gamma / np.sqrt(variance + np.float32(1e-3))
    expected = x * scale + (beta - mean * scale)
    return Cases(cases=((x,),), expected=((expected,),), tolerance=Tolerance(1e-5, 1e-5))


def remainder() -> Cases:
    """f32 [8, 33] by f32 [8, 33], with the sign of the dividend."""
    random = np.random.default_rng(0)
    x = (random.standard_normal((8, 33)) * 10).astype(np.float32)
    y = random.standard_normal((8, 33)).astype(np.float32)
    x[0, :8] = [1e30, -1e30, 5.0, -5.0, 0.0, -0.0, 3e-39, 7.5]
    y[0, :8] = [3.0, 0.7, 5.0, 5.0, 1.0, 1.0, 1e-39, 1e-3]
    return Cases(cases=((x, y),), expected=((np.fmod(x, y),),), tolerance=Exact())
