"""Writes the kernel of a product that takes the fewest cycles: sliding or GEMM, in groups of several sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from bmc.cores import core as cores
from bmc.cores.core import Core
from bmc.kernels.problem.product import Product
from bmc.kernels.schedule import gemm, grouped, grouped_bytes, grouped_floats, sliding
from bmc.kernels.schedule.choice import DEFAULT, Choice
from bmc.kernels.tree import cycles
from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.unsupported import Unsupported

# The core that kernels are for if none is named, and how many times the fewest instructions they may execute then.
_GENERIC, _MORE = "generic", 1.15
# Other loads in turn, and sizes of groups, that are tried; the last two if the second one is not too long.
_SHAPES = ((2, None), (None, 4), (2, 4), (2, 2))
# Kernels with fewer instructions are not worth a search.
_SMALL = 1000


def write(
    product: Product, vlen: int, choice: Choice = DEFAULT, core: Core | None = None
) -> Kernel:
    """Returns a kernel for harts with a VLEN of at least `vlen` bits. Any choice but `lanes` requires GEMM.

    Args:
      product: the product.
      vlen: the smallest VLEN in bits.
      choice: what tuning decided.
      core: the core whose cycles count. Without one, a blend's, among kernels without many more instructions.

    Raises:
      Unsupported: there is no kernel.
    """
    if product.packing is not None:
        choice.require()
        return best(list(_packed(product, vlen)), vlen, core)
    if replace(choice, lanes=None) != DEFAULT:
        return gemm.write(product, vlen, choice)
    return best(list(kernels(product, vlen, choice, _more(core))), vlen, core)


def _packed(product: Product, vlen: int) -> Iterator[Kernel]:
    """Yields the kernels of a product with packed weights; raises Unsupported if there is none."""
    assert product.packing is not None
    if product.packing.factors is not None:
        yield grouped_bytes.write(product, vlen)
        return
    yield grouped.write(product, vlen)
    for loads in (1, 2):
        with suppress(Unsupported):
            yield grouped_floats.write(product, vlen, loads)


def best(found: Sequence[Kernel], vlen: int, core: Core | None) -> Kernel:
    """Returns the kernel with the fewest cycles, the first one of several; arguments as in write()."""
    fewest = min(kernel.executed for kernel in found)
    found = [kernel for kernel in found if kernel.executed <= _more(core) * fewest]
    if len(found) == 1:
        return found[0]
    return min(found, key=lambda kernel: cycles_of(kernel, vlen, core))


def cycles_of(kernel: Kernel, vlen: int, core: Core | None) -> float:
    """Returns the cycles of a kernel for harts with a VLEN of at least `vlen` bits; `core` as in write()."""
    judge = core or cores.find(_GENERIC)
    # Such a kernel runs on harts with longer vectors only.
    return cycles.of_kernel(kernel.nodes, replace(judge, vlen=max(judge.vlen, vlen)))


def _more(core: Core | None) -> float:
    """Returns how many times the fewest instructions a kernel may execute."""
    return _MORE if core is None else math.inf


def kernels(
    product: Product, vlen: int, choice: Choice = DEFAULT, more: float = math.inf
) -> Iterator[Kernel]:
    """Yields the kernels to choose from, the one of GEMM with the fewest instructions first.

    Those that surely execute over `more` times as many are left out.

    Raises:
      Unsupported: there is none.
    """
    try:
        first, kernel = gemm.chosen(product, vlen, choice)
    except Unsupported as reason:
        try:
            yield sliding.write(product, vlen)
        except Unsupported:
            raise reason from None
        return
    yield kernel
    for loads, lmul in _SHAPES if kernel.executed > _SMALL else ():
        with suppress(Unsupported):
            other = gemm.write(product, vlen, replace(first, loads=loads, lmul=lmul))
            yield other
            if loads is None and other.executed > more * kernel.executed:
                break
    with suppress(Unsupported):
        yield sliding.write(product, vlen)


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
