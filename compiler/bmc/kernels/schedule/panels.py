"""Cuts the lanes of a product into panels, each as wide as a group of vector registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bmc.kernels.epilogue import one_row
from bmc.kernels.problem.product import Loop, Product, Unsupported
from bmc.kernels.schedule.accumulate import Accumulate
from bmc.kernels.schedule.choice import Choice
from bmc.kernels.schedule.row_block import REGISTERS

LMULS = (1, 2, 4, 8)
MOST_ROWS = 14
# Numbers of `a` that are in integer registers at a time.
_MOST_NUMBERS = 10
# Instructions to load a piece of sums again, and to move addresses, about.
_AGAIN = 8


@dataclass(frozen=True, slots=True)
class Panel:
    """`count` neighboring pieces of `lanes` lanes, each in groups of `lmul` registers, `rows` rows at a time.

    Attributes:
      epilogue_lmul: LMUL of the epilogue where accumulators are spilled, so that it has all registers; 0 where they are
        not.
      cost: instructions for each row, about.
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
    """Cuts the lanes so that all rows of them cost the fewest instructions.

    Args:
      product: what is computed.
      sums: writes its accumulate.
      inner_rows: the innermost loop of rows.
      vlen: the smallest VLEN in bits.
      choice: of the widest group, of rows, and of where sums wait.

    Raises:
      Unsupported: there are not enough registers.
    """
    largest = choice.lmul or LMULS[-1]
    ways = [lmul for lmul in LMULS if lmul <= largest]
    shapes = [
        s for lmul in ways for s in _shapes(product, accumulate, inner_rows, lmul, vlen, choice)
    ]
    if not shapes:
        raise Unsupported("registers")
    # Most lanes are in the largest groups, unless they are apart in memory, where more rows are better.
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
    """Returns panels of these shapes, the last ones cut off, that cost the least for so many lanes."""
    # What follows the first panel of the cheapest ones for fewer lanes is cheapest too.
    costs, firsts = [0.0], [shapes[0]]
    for left in range(1, lanes + 1):
        ways = [costs[left - min(shape.lanes, left)] + shape.cost for shape in shapes]
        costs.append(min(ways))
        firsts.append(shapes[ways.index(costs[left])])
    panels = []
    while lanes:
        panels.append(replace(firsts[lanes], lanes=min(firsts[lanes].lanes, lanes)))
        lanes -= panels[-1].lanes
    return panels


def _shapes(
    product: Product, accumulate: Accumulate, inner_rows: Loop, lmul: int, vlen: int, choice: Choice
) -> Iterator[Panel]:
    """The panels in groups of so many registers, with their sums kept in registers and with sums in memory."""
    nodes = product.epilogue
    lanes = lmul * vlen // product.scheme.bits

    def rows(groups: int) -> int:
        """How many rows of sums there are at a time in so many groups."""
        if accumulate.is_depthwise or not product.scheme.is_float:
            groups = min(groups, _MOST_NUMBERS)
        return min(groups, choice.rows or MOST_ROWS, inner_rows.extent)

    def cost(most: int) -> tuple[int, float]:
        """Returns the rows of a block, and instructions for each. Fewer rows may share more of what they read."""
        found = range(most, 0, -1) if accumulate.is_depthwise else (most,)
        costs = {each: accumulate.cost(each, lmul, lanes) for each in found}
        return min(costs.items(), key=lambda item: item[1])

    # Groups of `b`, and of `a` if it has lanes, what they are widened from, and a mask.
    narrow = accumulate.groups(lmul)
    most = rows(REGISTERS // lmul - max(narrow, one_row.temporaries(nodes, lmul)))
    spills = choice.spills
    if most > 0 and not spills:
        best, each = cost(most)
        yield Panel(lanes, lmul, best, 0, each + len(nodes))
    fits = [each for each in LMULS if one_row.temporaries(nodes, each) < REGISTERS // each]
    more = rows(REGISTERS // lmul - narrow)
    if more > (0 if spills else max(most, 0)) and fits and spills is not False:
        epilogue_lmul = min(lmul, fits[-1])
        best, each = cost(more)
        yield Panel(
            lanes, lmul, best, epilogue_lmul, each + (len(nodes) + _AGAIN) * lmul // epilogue_lmul
        )
