"""Reads a dispatch as one of the problems for which bmc writes kernels."""

from __future__ import annotations

import contextlib
from typing import Any

from bmc.ir import contraction, grouped_product, ir_util
from bmc.kernels.problem.problem import Problem
from bmc.kernels.read import elementwise, packed, product, reduction, scatter
from bmc.kernels.unsupported import Unsupported


def read(function: ir_util.Op, lanes: int = 0) -> tuple[Problem, tuple[Any, ...]]:
    """Returns the problem of a dispatch function, and its operands: buffers or constant tensors.

    Args:
      function: the function of the dispatch.
      lanes: which of the possible loops is vectorized; 0 is the preferred one.

    Raises:
      Unsupported: the function is none of the problems.
    """
    ops = list(ir_util.walk(function))
    if any(op.name == "iree_linalg_ext.scatter" for op in ops):
        return scatter.read(function)
    if any(grouped_product.read(op) for op in ops):
        unpacked = packed.read(function)
        return unpacked.product, unpacked.operands
    if any(contraction.read(op) for op in ops):
        dispatch = product.read(function, lanes)
        if dispatch.product.has_long_lines:
            with contextlib.suppress(Unsupported):
                return reduction.read(function)
        return dispatch.product, dispatch.operands
    if any(reduction.is_reduction(op) for op in ops):
        return reduction.read(function)
    return elementwise.read(function, lanes)
