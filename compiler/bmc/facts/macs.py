"""Multiply-accumulates of one run, counted on the operations before they become kernels.

An operation that sums products of two operands (a matmul or convolution in any form) counts one for every
iteration of its loops, including padding, which is the usual way to count. Mere additions count nothing:
pooling, means, and the corrections for an int8 zero point.
"""

from __future__ import annotations

import math
from typing import Any

from bmc.ir import contraction, ir_util, names


def count(module: Any) -> dict[str, int]:
    """Returns the multiply-accumulates of every entry point. The body of a loop counts once."""
    return {
        ir_util.string(function, "sym_name"): sum(map(of, ir_util.walk(function)))
        for function in ir_util.all_of(module, names.HOST_FUNCTION)
        if _is_public(function)
    }


def _is_public(function: ir_util.Op) -> bool:
    return (
        "sym_visibility" not in function.attributes
        or ir_util.string(function, "sym_visibility") == "public"
    )


def of(op: ir_util.Op) -> int:
    """Returns the multiply-accumulates of one operation; 0 if its loops are not all of known length."""
    if not op.name.startswith("linalg.") or not contraction.accumulator(op):
        return 0
    extents = contraction.extents(op).values()
    return math.prod(extents) if min(extents) >= 0 else 0
