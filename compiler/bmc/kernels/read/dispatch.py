"""Reads a dispatch as one of the problems for which bmc writes kernels."""

from __future__ import annotations

import contextlib
from typing import Any

from bmc.ir import contraction, ir_util
from bmc.kernels.problem.problem import Problem
from bmc.kernels.problem.product import Unsupported
from bmc.kernels.read import elementwise, product, reduction, scatter


def read(function: ir_util.Op, lanes: int = 0) -> tuple[Problem, tuple[Any, ...]]:
    """Returns what a dispatch function computes, and its operands: buffers, or constant tensors.

    Args:
      function: the dispatch.
      lanes: which of the loops that can run in vectors does, from 0, the one that is preferred.

    Raises:
      Unsupported: it is no such problem.
    """
    ops = list(ir_util.walk(function))
    if any(op.name == "iree_linalg_ext.scatter" for op in ops):
        return scatter.read(function)
    if any(contraction.read(op) for op in ops):
        dispatch = product.read(function, lanes)
        if dispatch.product.has_long_lines:
            with contextlib.suppress(Unsupported):
                return reduction.read(function)
        return dispatch.product, dispatch.operands
    if any(reduction.is_reduction(op) for op in ops):
        return reduction.read(function)
    return elementwise.read(function, lanes)
