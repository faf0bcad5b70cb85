"""Writes the kernel of a problem of any kind."""

from __future__ import annotations

from bmc.kernels.problem.elementwise import Elementwise
from bmc.kernels.problem.problem import Problem
from bmc.kernels.problem.product import Product
from bmc.kernels.problem.reduction import Reduction
from bmc.kernels.problem.scatter import Scatter
from bmc.kernels.schedule import elementwise, fastest, reduce, scatter
from bmc.kernels.schedule.choice import DEFAULT, Choice
from bmc.kernels.tree.assembly import Kernel


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
            return reduce.write(problem, vlen)
        case Scatter():
            choice.require()
            return scatter.write(problem, vlen, xlen)
