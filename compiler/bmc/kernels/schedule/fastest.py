"""Writes the kernel of a product: sliding or GEMM, whichever executes fewer instructions."""

from __future__ import annotations

from dataclasses import replace

from bmc.kernels.problem.product import Product, Unsupported
from bmc.kernels.schedule import gemm, sliding
from bmc.kernels.schedule.choice import DEFAULT, Choice
from bmc.kernels.tree.assembly import Kernel


def write(product: Product, vlen: int, choice: Choice = DEFAULT) -> Kernel:
    """Returns a kernel for harts with a VLEN of at least `vlen` bits. Any choice but `lanes` requires GEMM.

    Raises:
      Unsupported: neither has a kernel.
    """
    if replace(choice, lanes=None) != DEFAULT:
        return gemm.write(product, vlen, choice)
    try:
        kernel = sliding.write(product, vlen)
    except Unsupported:
        return gemm.write(product, vlen, choice)
    try:
        return min(kernel, gemm.write(product, vlen, choice), key=lambda each: each.executed)
    except Unsupported:
        return kernel


def cost(product: Product, vlen: int, epilogue_cost: int) -> float:
    """Estimates the instructions that the kernel executes, with `epilogue_cost` of them for each accumulator.

    Raises:
      Unsupported: as write().
    """
    try:
        sliding_cost = sliding.cost(product, vlen, epilogue_cost)
    except Unsupported:
        return gemm.cost(product, vlen, epilogue_cost)
    try:
        return min(sliding_cost, gemm.cost(product, vlen, epilogue_cost))
    except Unsupported:
        return sliding_cost
