"""Writes the kernel of a problem of any kind."""

from __future__ import annotations

from bmc.cores.core import Core
from bmc.kernels.problem.elementwise import Elementwise
from bmc.kernels.problem.problem import Problem
from bmc.kernels.problem.product import Product
from bmc.kernels.problem.reduction import Reduction
from bmc.kernels.problem.scatter import Scatter
from bmc.kernels.schedule import elementwise, fastest, reduce, scatter
from bmc.kernels.schedule.choice import DEFAULT, Choice
from bmc.kernels.tree.assembly import Kernel


def write(
    problem: Problem, vlen: int, xlen: int, choice: Choice = DEFAULT, core: Core | None = None
) -> Kernel:
    """Returns a kernel for harts with a VLEN of at least `vlen` bits and integer registers of `xlen` bits.

    `core` is as in fastest.write().

    Raises:
      Unsupported: the problem has no kernel, or none with this choice.
    """
    match problem:
        case Product():
            return fastest.write(problem, vlen, choice, core)
        case Elementwise():
            choice.require("lanes", "lmul")
            return elementwise.write(problem, vlen, xlen, choice)
        case Reduction():
            choice.require()
            return reduce.write(problem, vlen)
        case Scatter():
            choice.require()
            return scatter.write(problem, vlen, xlen)
