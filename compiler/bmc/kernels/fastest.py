"""Writes the kernel of a product in the way that takes the fewest instructions."""

from __future__ import annotations

from dataclasses import replace

from bmc.kernels import lines, nest
from bmc.kernels.assembly import Kernel
from bmc.kernels.choice import DEFAULT, Choice
from bmc.kernels.product import Product, Unsupported


def write(product: Product, vlen: int, choice: Choice = DEFAULT) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits. What is chosen is about nests of loops.

    Raises:
      Unsupported: there is none.
    """
    if replace(choice, lanes=None) != DEFAULT:
        return nest.write(product, vlen, choice)
    try:
        kernel = lines.write(product, vlen)
    except Unsupported:
        return nest.write(product, vlen, choice)
    try:
        return min(kernel, nest.write(product, vlen, choice), key=lambda each: each.executed)
    except Unsupported:
        return kernel


def cost(product: Product, vlen: int, behind: int) -> float:
    """Returns about how many instructions it executes, with `behind` for each complete group of sums.

    Raises:
      Unsupported: as write().
    """
    try:
        found = lines.cost(product, vlen, behind)
    except Unsupported:
        return nest.cost(product, vlen, behind)
    try:
        return min(found, nest.cost(product, vlen, behind))
    except Unsupported:
        return found
