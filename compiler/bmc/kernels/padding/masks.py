"""Masks of the lanes inside a padded image, for products whose lanes are pixels.

Each tap of a window shifts the lanes, so it has its own mask. The masks of a panel are computed before its rows, and
kept in scratch memory. A panel may span the end of an image line, because masks handle that too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from bmc.kernels.padding.borders import step
from bmc.kernels.problem.product import A, B, Edge, Loop, Product
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.vectors import Lanes
from bmc.kernels.unsupported import Unsupported

# Horizontal taps at most. Their masks, a vertical mask and the conjunction of two have a register each below v8.
_MOST_TAPS = 6
# Groups of registers for the indices of lanes.
_INDICES = 3
# Estimated instructions for the indices of the lanes, and for each mask.
_INDEX_COST, _MASK_COST = 16, 4


class Masks:
    """Writes the masks of panels.

    If an image is padded along two axes, most panels are in its interior: no vertical tap leaves the image. They have
    one mask for each horizontal tap. Panels at the vertical border also have one for each pair of a vertical and a
    horizontal tap, behind these in memory.

    Args:
      out: receives the instructions.
      product: a product whose `b` is padded.
      vlen: the smallest VLEN in bits.

    Attributes:
      horizontal: the loop over horizontal taps: along the axis on which lanes are adjacent. Empty if there is one tap.
      vertical: the loop over taps along the other padded axis. Empty if there is one tap.
      is_flat: whether only one axis is padded.
      slot: bytes of a mask.
      first: register with the index of the panel's first lane.
      positions: registers with the image index of the first tap, for the edges that outer loops move along, by edge
        number.

    Raises:
      Unsupported: more than two axes are padded, the window is too large, or there are too many lanes.
    """

    def __init__(self, out: Assembly, product: Product, vlen: int) -> None:
        padding = product.padding
        assert padding is not None and padding.operand == B
        self._out = out
        self._grid = product.grid
        self._bits = product.scheme.bits
        self.slot = vlen // self._bits
        edges = list(enumerate(padding.edges))
        horizontal = [each for each in edges if step(self._grid[-1], each[0])] or edges[:1]
        vertical = [each for each in edges if each not in horizontal]
        taps = [[loop for loop in product.summed if step(loop, number)] for number, _ in edges]
        if len(horizontal) > 1 or len(vertical) > 1 or max(map(len, taps)) > 1:
            raise Unsupported("an image that is padded along too many axes")
        extent = math.prod(loop.extent for loop in self._grid)
        # Lane indices are divided by the length of a line in arithmetic of this width; see _indices().
        inexact = extent * self._grid[-1].extent >= 2**self._bits
        if len(self._grid) > 2 or inexact or product.lanes.strides[A]:
            raise Unsupported("lanes that cannot have masks")
        (self._horizontal_edge,) = horizontal
        self._vertical_edge = vertical[0] if vertical else None
        self.is_flat = self._vertical_edge is None
        self.horizontal = tuple(taps[self._horizontal_edge[0]])
        self.vertical = tuple(taps[self._vertical_edge[0]]) if self._vertical_edge else ()
        if self._extent(self.horizontal) > _MOST_TAPS:
            raise Unsupported("a large window on a padded image")
        self.first = out.register()
        self.positions = {
            number: out.register()
            for number, _ in edges
            if any(step(loop, number) for loop in product.outer)
        }

    @property
    def horizontal_bytes(self) -> int:
        """Bytes of the masks of horizontal taps, which come first in memory."""
        return self.slot * self._extent(self.horizontal)

    @property
    def bytes(self) -> int:
        """Bytes of all masks."""
        return self.horizontal_bytes * (1 + (not self.is_flat) * self._extent(self.vertical))

    @property
    def cost(self) -> int:
        """Estimated instructions to compute the masks of a panel."""
        return _INDEX_COST + _MASK_COST * self._extent(self.horizontal)

    def start(self, start_offsets: Mapping[int, str]) -> None:
        """Emits the initial values of `positions`; `start_offsets` are registers by edge number."""
        for number, edge in filter(None, (self._horizontal_edge, self._vertical_edge)):
            if number in self.positions:
                position = self.positions[number]
                self._out.set(position, -edge.low)
                if edge.moves:
                    self._out.emit(rvv.add(position, position, start_offsets[number]))

    def write(self, lanes: Lanes, to: str) -> None:
        """Emits the masks of a panel, and their stores to the address in register `to`. Uses all vector registers."""
        out = self._out
        out.use(lanes, lanes.bits)
        groups = [out.vectors.take(lanes.lmul) for _ in range(_INDICES)]
        singles = [
            out.vectors.take(1, lowest=True) for _ in range(2 + self._extent(self.horizontal))
        ]
        vertical, both, *horizontal = singles
        indices, free = self._indices(groups)
        with out.registers(1) as (address,):
            out.move(address, to)
            for mask in self._edge_masks(
                *self._horizontal_edge, self.horizontal, indices, free, horizontal
            ):
                self._store(mask, address)
            vertical_edge = self._vertical_edge

            def both_edges() -> None:
                assert vertical_edge is not None
                masks = [vertical] * self._extent(self.vertical)
                for mask in self._edge_masks(*vertical_edge, self.vertical, indices, free, masks):
                    for other in horizontal:
                        out.emit(rvv.and_masks(both, mask, other))
                        self._store(both, address)

            if vertical_edge is not None:
                self.if_interior(lanes, lambda: None, both_edges)
        out.vectors.give(*groups, *singles)

    def if_interior(
        self, lanes: Lanes, interior: Callable[[], None], border: Callable[[], None]
    ) -> None:
        """Emits a branch: `interior` runs if all vertical taps of the panel are inside the image, else `border`."""
        assert self._vertical_edge is not None
        out = self._out
        number, edge = self._vertical_edge
        reach = sum((loop.extent - 1) * step(loop, number) for loop in self.vertical)
        with out.registers(2) as (index, limit):
            # If lanes span lines, compare the first lane; otherwise the vertical position, which all lanes share.
            if len(self._grid) > 1 and step(self._grid[0], number):
                stride, line_lanes = step(self._grid[0], number), self._grid[-1].extent
                start = -(-edge.low // stride) * line_lanes
                end = ((edge.extent - 1 - reach + edge.low) // stride + 1) * line_lanes
                out.move(index, self.first)
                out.add(index, -start)
                out.set(limit, max(0, end - start - lanes.count + 1))
            else:
                if number in self.positions:
                    out.move(index, self.positions[number])
                else:
                    out.set(index, -edge.low)
                out.set(limit, max(0, edge.extent - reach))
        out.within(index, limit, interior, border)

    def _store(self, mask: str, address: str) -> None:
        self._out.emit(rvv.store_mask(mask, address))
        self._out.add(address, self.slot)

    def _indices(self, groups: list[str]) -> tuple[list[str], str]:
        """Emits the index of each lane in each loop of the grid.

        Args:
          groups: _INDICES free groups of registers.

        Returns:
          a group of registers with the indices for each loop, and a free group.
        """
        out = self._out
        first, second, third = groups
        out.emit(rvv.lane_numbers(first))
        out.emit(rvv.binary("vadd", first, first, self.first))
        if len(self._grid) < 2:
            return [first], second
        length = self._grid[-1].extent
        with out.registers(1) as (number,):
            # Division by multiplication with the inverse, rounded up, is exact for the lanes that __init__ allows.
            out.set(number, -(-(2**self._bits) // length) % 2**self._bits)
            out.emit(rvv.binary("vmulhu", third, first, number))
            out.set(number, length)
            out.emit(rvv.binary("vmul", second, third, number))
            out.emit(rvv.binary("vsub", second, first, second))
        return [third, second], first

    def _edge_masks(
        self,
        number: int,
        edge: Edge,
        taps: tuple[Loop, ...],
        indices: list[str],
        free: str,
        masks: list[str],
    ) -> Iterator[str]:
        """Emits the mask of each tap along an edge, and yields it: the lanes that read inside the image.

        Args:
          number, edge: the edge.
          taps: the loop over the taps, if there are several.
          indices, free: as _indices() returns them.
          masks: register for the mask of each tap.
        """
        out = self._out
        axes = [axis for axis, loop in enumerate(self._grid) if step(loop, number)]
        with out.registers(2) as (value, extent):
            start = self.positions.get(number, value)
            if start == value:
                out.set(value, -edge.low)
            if not axes:
                out.emit(rvv.splat(free, start))
            else:
                stride = step(self._grid[axes[0]], number)
                source = indices[axes[0]]
                if stride != 1:
                    out.set(extent, stride)
                    out.emit(rvv.binary("vmul", free, source, extent))
                    source = free
                out.emit(rvv.binary("vadd", free, source, start))
            out.set(extent, edge.extent)
            for tap, mask in enumerate(masks):
                if tap:
                    out.set(value, step(taps[0], number))
                    out.emit(rvv.binary("vadd", free, free, value))
                out.emit(rvv.binary("vmsltu", mask, free, extent))
                yield mask

    @staticmethod
    def _extent(taps: tuple[Loop, ...]) -> int:
        return math.prod(loop.extent for loop in taps)
