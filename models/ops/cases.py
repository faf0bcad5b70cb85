"""Inputs and expected outputs of the MLIR operators, computed by NumPy."""

from __future__ import annotations

import numpy as np

from bmc.spec import Cases, Exact


def matmul_i8() -> Cases:
    """int8 [24, 64] x int8 [64, 40] -> int32 [24, 40]."""
    random = np.random.default_rng(0)
    lhs = random.integers(-128, 128, (24, 64), dtype=np.int8)
    rhs = random.integers(-128, 128, (64, 40), dtype=np.int8)
    expected = lhs.astype(np.int32) @ rhs.astype(np.int32)
    return Cases(cases=((lhs, rhs),), expected=((expected,),), tolerance=Exact())
