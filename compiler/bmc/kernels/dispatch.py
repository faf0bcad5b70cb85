"""One entrance for all kinds of kernels: reads a dispatch as a problem, and writes the kernel of a problem."""

from __future__ import annotations

import contextlib
from typing import Any

from bmc.ir import contraction, ir_util
from bmc.kernels import elementwise, fastest, reducing, reductions, scatter
from bmc.kernels.assembly import Kernel
from bmc.kernels.choice import DEFAULT, Choice
from bmc.kernels.elementwise import Elementwise
from bmc.kernels.product import Product, Unsupported, has_halves
from bmc.kernels.read import read as read_product
from bmc.kernels.reductions import Reduction
from bmc.kernels.scatter import Scatter

Problem = Product | Reduction | Elementwise | Scatter


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
        dispatch = read_product(function, lanes)
        if dispatch.product.has_long_lines:
            with contextlib.suppress(Unsupported):
                return reductions.reduction(function)
        return dispatch.product, dispatch.operands
    if any(reductions.is_reduction(op) for op in ops):
        return reductions.reduction(function)
    return elementwise.read(function, lanes)


def write(problem: Problem, vlen: int, xlen: int, choice: Choice = DEFAULT) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits, and whose integer registers have `xlen`.

    Raises:
      Unsupported: there is none, or none with that choice.
    """
    match problem:
        case Product():
            return fastest.write(problem, vlen, choice)
        case Elementwise():
            choice.require("lanes", "lmul")
            return elementwise.write(problem, vlen, xlen, choice)
        case Reduction():
            choice.require()
            return reducing.write(problem, vlen)
        case Scatter():
            choice.require()
            return scatter.write(problem, vlen, xlen)


def needs_halves(problem: Problem) -> bool:
    """Whether a kernel needs instructions for f16. A scatter moves bytes."""
    match problem:
        case Product(dtypes=dtypes, epilogue=epilogue):
            return has_halves(dtypes, epilogue)
        case Reduction(dtypes=dtypes, step=step, epilogue=epilogue):
            return has_halves(dtypes, step, epilogue)
        case Elementwise(dtypes=dtypes, nodes=nodes):
            return has_halves(dtypes, nodes)
    return False
