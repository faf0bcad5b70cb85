"""The edges of a padded image whose pixels are lanes, and which of a tap's lanes are inside."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bmc.kernels.padding.borders import step
from bmc.kernels.problem.product import B, Edge, Loop, Product
from bmc.kernels.unsupported import Unsupported


@dataclass(frozen=True, slots=True)
class TapLanes:
    """The lanes that a horizontal tap reads, if it has a copy of its own, or that all horizontal taps read.

    Attributes:
      b, widened: bytes from the first tap, in `b` and in the copy.
      low: lanes of the first panel that are left of the image.
      extent: lanes inside the image.
    """

    b: int = 0
    widened: int = 0
    low: int = 0
    extent: int = 0


class LaneEdges:
    """The padded edges of an image whose pixels are lanes.

    Attributes:
      horizontal: number and edge of the axis along which lanes are adjacent; None without padding.
      vertical: number and edge of the other padded axis, if there is one.
      line_lanes: lanes of an image line if panels span lines, 0 if they do not.

    Raises:
      Unsupported: the image has an unsupported layout.
    """

    def __init__(self, product: Product) -> None:
        self.horizontal: tuple[int, Edge] | None = None
        self.vertical: tuple[int, Edge] | None = None
        self.line_lanes = 0
        self._skip = 1
        padding = product.padding
        if padding is None or padding.operand != B:
            return
        *outer, inner = product.grid
        edges = list(enumerate(padding.edges))
        horizontal = [each for each in edges if step(inner, each[0])]
        others = [each for each in edges if each not in horizontal]
        if len(horizontal) != 1 or len(others) > 1 or len(outer) > 1:
            raise Unsupported("an image that is padded along other axes than its lines")
        (self.horizontal,) = horizontal
        self.vertical = others[0] if others else None
        self._skip = step(inner, self.horizontal[0])
        moving = [self.horizontal[0]]
        if outer:
            self.line_lanes = inner.extent
            exact = self.vertical is not None and step(outer[0], self.vertical[0]) == 1
            if not exact or self._skip != 1 or self.horizontal[1].extent != self.line_lanes:
                raise Unsupported("image lines with gaps between them")
            moving.append(others[0][0])
        if any(step(loop, number) for loop in product.outer for number in moving):
            raise Unsupported("outer loops that read different parts of an image")

    def may_share(self, loop: Loop) -> bool:
        """Whether the lanes of all taps of a loop can be numbered consecutively, so that they may share a copy."""
        if not self.horizontal:
            return True
        if self.vertical and step(loop, self.vertical[0]):
            return self.line_lanes > 0
        return self._skip == 1 and step(loop, self.horizontal[0]) > 0

    def tap_lanes(self, taps: Loop | None) -> Iterator[TapLanes]:
        """Yields the lanes of each horizontal tap; `taps` is None if all of them share a copy."""
        if not self.horizontal:
            yield TapLanes()
            return
        number, edge = self.horizontal
        low, extent = edge.low, edge.extent
        if self.line_lanes and self.vertical:
            low += self.vertical[1].low * self.line_lanes
            extent *= self.vertical[1].extent
        for tap in range(taps.extent if taps else 1):
            index = tap * step(taps, number) if taps else 0
            begin = math.ceil((low - index) / self._skip)
            end = math.ceil((low + extent - index) / self._skip)
            b, widened = (tap * stride for stride in taps.strides) if taps else (0, 0)
            yield TapLanes(b, widened, begin, end - begin)
