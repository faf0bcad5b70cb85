"""Cuts the lanes of a product into panels, each as wide as one register group, and chooses their row blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bmc.kernels.epilogue import one_row
from bmc.kernels.problem.product import Loop, Product
from bmc.kernels.schedule.accumulate import Accumulate
from bmc.kernels.schedule.choice import Choice
from bmc.kernels.tree.vectors import REGISTERS
from bmc.kernels.unsupported import Unsupported

LMULS = (1, 2, 4, 8)
MOST_ROWS = 14
# Integer registers for scalars or addresses of `a`; a row block of int8 or of a depthwise product needs one per row.
_MOST_SCALARS = 10
# Estimated instructions to store and load a spilled accumulator, and to move addresses.
_SPILL_COST = 8


@dataclass(frozen=True, slots=True)
class Panel:
    """A tile of lanes, or several neighboring ones of the same shape.

    Attributes:
      lanes: lanes of each panel.
      lmul: registers of an accumulator.
      rows: rows of the largest row block.
      epilogue_lmul: LMUL of the epilogue if the accumulators are spilled before it, which frees all registers for it;
        0 if they are not.
      cost: estimated instructions for each row.
      count: how many panels.
    """

    lanes: int
    lmul: int
    rows: int
    epilogue_lmul: int
    cost: float
    count: int = 1


def cut(
    product: Product, accumulate: Accumulate, inner_rows: Loop, vlen: int, choice: Choice
) -> list[Panel]:
    """Cuts the lanes into the panels with the lowest estimated cost.

    Args:
      product: the product as row blocks read it.
      accumulate: writes the summed loops, and estimates their cost.
      inner_rows: the innermost row loop.
      vlen: the smallest VLEN in bits.
      choice: limits `lmul`, `rows` and `spills`.

    Raises:
      Unsupported: there are not enough vector registers.
    """
    largest = choice.lmul or LMULS[-1]
    lmuls = [lmul for lmul in LMULS if lmul <= largest]
    shapes = [
        s for lmul in lmuls for s in _shapes(product, accumulate, inner_rows, lmul, vlen, choice)
    ]
    if not shapes:
        raise Unsupported("an epilogue that needs too many vector registers")
    # Contiguous lanes are best in the largest groups. For strided lanes more rows matter more.
    most = shapes[-1].lmul if product.is_contiguous else 1
    widest = min((s for s in shapes if s.lmul >= most), key=lambda s: s.cost / s.lanes)
    whole, left = divmod(product.lanes.extent, widest.lanes)
    if whole and left:
        whole, left = whole - 1, left + widest.lanes
    result: list[Panel] = []
    for panel in [widest] * whole + _cheapest(shapes, left):
        if result and replace(result[-1], count=1) == panel:
            result[-1] = replace(panel, count=result[-1].count + 1)
        else:
            result.append(panel)
    return result


def _cheapest(shapes: list[Panel], lanes: int) -> list[Panel]:
    """Returns the cheapest sequence of panels for `lanes` lanes; any panel may have fewer lanes than its shape."""
    # Dynamic programming: the cost of the cheapest panels for each number of lanes, and the first of these panels.
    costs, firsts = [0.0], [shapes[0]]
    for left in range(1, lanes + 1):
        totals = [costs[left - min(shape.lanes, left)] + shape.cost for shape in shapes]
        costs.append(min(totals))
        firsts.append(shapes[totals.index(costs[left])])
    panels = []
    while lanes:
        panels.append(replace(firsts[lanes], lanes=min(firsts[lanes].lanes, lanes)))
        lanes -= panels[-1].lanes
    return panels


def _shapes(
    product: Product, accumulate: Accumulate, inner_rows: Loop, lmul: int, vlen: int, choice: Choice
) -> Iterator[Panel]:
    """Yields the panel shapes with accumulators of `lmul` registers: without a spill, and with one."""
    nodes = product.epilogue
    lanes = lmul * vlen // product.scheme.bits

    def rows(groups: int) -> int:
        """Returns the rows of a row block that may use `groups` accumulators."""
        if accumulate.is_depthwise or not product.scheme.is_float:
            groups = min(groups, _MOST_SCALARS)
        return min(groups, choice.rows or MOST_ROWS, inner_rows.extent)

    def cost(most: int) -> tuple[int, float]:
        """Returns the best number of rows up to `most`, and its cost for each row.

        In a depthwise product fewer rows may share more loads, because they leave registers for weights.
        """
        candidates = range(most, 0, -1) if accumulate.is_depthwise else (most,)
        costs = {each: accumulate.cost(each, lmul, lanes) for each in candidates}
        return min(costs.items(), key=lambda item: item[1])

    operands = accumulate.groups(lmul)
    kept_rows = rows(REGISTERS // lmul - max(operands, one_row.temporaries(nodes, lmul)))
    spills = choice.spills
    if kept_rows > 0 and not spills:
        best, row_cost = cost(kept_rows)
        yield Panel(lanes, lmul, best, 0, row_cost + len(nodes))
    # A spill pays if it allows more rows, and is needed if the epilogue leaves no registers for any.
    fits = [each for each in LMULS if one_row.temporaries(nodes, each) < REGISTERS // each]
    spilled_rows = rows(REGISTERS // lmul - operands)
    if spilled_rows > (0 if spills else max(kept_rows, 0)) and fits and spills is not False:
        epilogue_lmul = min(lmul, fits[-1])
        best, row_cost = cost(spilled_rows)
        row_cost += (len(nodes) + _SPILL_COST) * lmul // epilogue_lmul
        yield Panel(lanes, lmul, best, epilogue_lmul, row_cost)
