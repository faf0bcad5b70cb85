"""Taps outside a padded image, for products whose lanes are channels.

Along the innermost row loop (horizontally), they are known at compile time: row blocks at both ends of an image line
have a text of their own. Vertically, the kernel branches: a register holds the image index of the first tap, and taps
outside the image are skipped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bmc.kernels.problem.product import LARGEST_WINDOW, A, Edge, Loop, OutOfBounds, Product
from bmc.kernels.unsupported import Unsupported


@dataclass(frozen=True, slots=True)
class VerticalEdge:
    """A padded axis that is not the one of the innermost row loop.

    Attributes:
      number: index of the edge in Padding.edges.
      extent: indices inside the image.
      start: image index of the first tap of the first row; not positive.
      moves: as in Edge.
    """

    number: int
    extent: int
    start: int
    moves: bool


class Borders:
    """The padded edges of `a`. There are none if `b` is padded, which needs masks instead.

    Args:
      product: the product as row blocks read it.
      inner_rows: the innermost row loop.

    Attributes:
      vertical: the edges along other loops than `inner_rows`.
      horizontal: the loop over taps along `inner_rows`, None if it is not padded.

    Raises:
      Unsupported: the window is too large, or the image has an unsupported layout.
    """

    def __init__(self, product: Product, inner_rows: Loop) -> None:
        padding = product.padding if product.padding and product.padding.operand == A else None
        self._inner_rows = inner_rows
        self.vertical: list[VerticalEdge] = []
        self.horizontal: Loop | None = None
        self._horizontal_edge: tuple[int, Edge] | None = None
        for number, edge in enumerate(padding.edges if padding else ()):
            taps = [loop for loop in product.summed if step(loop, number)]
            if len(taps) != 1:
                raise Unsupported("an image that is padded along an axis with one tap")
            if step(inner_rows, number):
                if edge.moves:
                    raise Unsupported("a part of a padded line")
                self._horizontal_edge = (number, edge)
                (self.horizontal,) = taps
            else:
                self.vertical.append(VerticalEdge(number, edge.extent, -edge.low, edge.moves))
        if self.horizontal and self.horizontal.extent > LARGEST_WINDOW:
            raise Unsupported("a large window on a padded image")

    def crossed(self, loop: Loop) -> VerticalEdge | None:
        """Returns the vertical edge along which a loop over taps moves, if there is one."""
        return next((edge for edge in self.vertical if step(loop, edge.number)), None)

    def blocks(self, most: int) -> list[tuple[int, int, OutOfBounds]]:
        """Cuts the innermost row loop into blocks of at most `most` rows.

        Returns:
          for each run of identical neighboring blocks: their count, the rows of each, and its taps outside the image.
        """
        extent = self._inner_rows.extent
        count = math.ceil(extent / most)
        if self._horizontal_edge is None or count < 3:
            rows, larger = divmod(extent, count)
            sizes = [rows + 1] * larger + [rows] * (count - larger)
        else:
            # The blocks at both ends need a text of their own anyway, so they absorb the remainder.
            rows = math.ceil(extent / count)
            ends = extent - (count - 2) * rows
            sizes = [ends - ends // 2, *[rows] * (count - 2), ends // 2]
        blocks: list[tuple[int, int, OutOfBounds]] = []
        first = 0
        for rows in sizes:
            out_of_bounds = self._find_out_of_bounds(first, rows)
            first += rows
            if blocks and blocks[-1][1:] == (rows, out_of_bounds):
                blocks[-1] = (blocks[-1][0] + 1, rows, out_of_bounds)
            else:
                blocks.append((1, rows, out_of_bounds))
        return blocks

    def _find_out_of_bounds(self, first: int, rows: int) -> OutOfBounds:
        if self._horizontal_edge is None:
            return frozenset()
        number, edge = self._horizontal_edge
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
    """Returns by how many image indices along an edge one iteration of the loop moves; `edge` is its number."""
    return loop.steps[edge] if loop.steps else 0
