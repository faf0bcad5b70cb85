"""Which taps of a window lie outside of a padded image, where lanes are channels.

Along the rows of a block that is known when the text is written, so blocks at both ends of a line have texts of their
own. From line to line the kernel finds out: a register holds where the window begins, and a tap whose index is not in
the image reads nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bmc.kernels.problem.product import LARGEST_WINDOW, A, Edge, Loop, Product, Unsupported

# Rows and taps of a block that lie outside.
OutOfBounds = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class VerticalEdge:
    """An edge that is crossed from line to line.

    Attributes:
      number: its number in the padding.
      extent: how many indices are in the image.
      start: the index of the first line's first tap; not positive.
      moves: as in Edge.
    """

    number: int
    extent: int
    start: int
    moves: bool


class Borders:
    """The borders of a product's image. There are none if lanes are its pixels, for which there are masks.

    Args:
      product: what is computed.
      inner_rows: the innermost loop of rows.

    Attributes:
      vertical: the edges that are crossed from line to line.
      horizontal: the loop over the taps that leave the image along a line, None if none do.

    Raises:
      Unsupported: the window is too large, or the image lies otherwise.
    """

    def __init__(self, product: Product, inner_rows: Loop) -> None:
        padding = product.padding if product.padding and product.padding.operand == A else None
        self._inner_rows = inner_rows
        self.vertical: list[VerticalEdge] = []
        self.horizontal: Loop | None = None
        self._edge: tuple[int, Edge] | None = None
        for number, edge in enumerate(padding.edges if padding else ()):
            taps = [loop for loop in product.summed if step(loop, number)]
            if len(taps) != 1:
                raise Unsupported("an image that is padded where its window has one pixel")
            if step(inner_rows, number):
                if edge.moves:
                    raise Unsupported("a part of a line that is padded")
                self._edge = (number, edge)
                (self.horizontal,) = taps
            else:
                self.vertical.append(VerticalEdge(number, edge.extent, -edge.low, edge.moves))
        if self.horizontal and self.horizontal.extent > LARGEST_WINDOW:
            raise Unsupported("a large window that is padded")

    def crossed(self, loop: Loop) -> VerticalEdge | None:
        """Returns the edge from line to line that a loop over taps crosses."""
        return next((edge for edge in self.vertical if step(loop, edge.number)), None)

    def blocks(self, most: int) -> list[tuple[int, int, OutOfBounds]]:
        """Cuts a line into blocks of at most so many rows.

        Returns:
          how many neighboring blocks are alike, the rows of each, and what they miss.
        """
        extent = self._inner_rows.extent
        count = math.ceil(extent / most)
        if self._edge is None or count < 3:
            rows, more = divmod(extent, count)
            sizes = [rows + 1] * more + [rows] * (count - more)
        else:
            # Those at the ends are different anyway.
            rows = math.ceil(extent / count)
            ends = extent - (count - 2) * rows
            sizes = [ends - ends // 2, *[rows] * (count - 2), ends // 2]
        found: list[tuple[int, int, OutOfBounds]] = []
        first = 0
        for rows in sizes:
            out_of_bounds = self._out_of_bounds(first, rows)
            first += rows
            if found and found[-1][1:] == (rows, out_of_bounds):
                found[-1] = (found[-1][0] + 1, rows, out_of_bounds)
            else:
                found.append((1, rows, out_of_bounds))
        return found

    def _out_of_bounds(self, first: int, rows: int) -> OutOfBounds:
        if self._edge is None:
            return frozenset()
        number, edge = self._edge
        taps = self.horizontal
        assert taps is not None
        return frozenset(
            (row, tap)
            for row in range(rows)
            for tap in range(taps.extent)
            if not edge.has(
                (first + row) * step(self._inner_rows, number) + tap * step(taps, number)
            )
        )


def step(loop: Loop, edge: int) -> int:
    """Returns the indices along an edge from one iteration to the next."""
    return loop.steps[edge] if loop.steps else 0
