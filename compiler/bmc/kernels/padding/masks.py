"""Which lanes lie in a padded image, where lanes are its pixels.

Each tap of a window reads other pixels, so each has a mask of its own. The masks of a panel are computed when it
begins, and wait in memory. Lanes may go on from the end of a line to the next one, because masks also tell where lines
end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from bmc.kernels.padding.borders import step
from bmc.kernels.problem.product import A, B, Edge, Loop, Product, Unsupported
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.lanes import Lanes

# Registers for the masks along one edge, v1 and those that follow.
_MOST_TAPS = 6
# Where these masks, with those along another edge, are put together.
_BOTH = "v7"
# Instructions for the indices of lanes, and for each mask, about.
_INDICES, _MASK = 16, 4


class Masks:
    """Writes the masks of panels.

    Where an image has two edges, most panels are far from one of them. The masks for the taps along the other one are
    first in memory. Only panels that are near have masks for all taps, behind those.

    Args:
      out: receives the text.
      product: what is computed. Its `b` is padded.
      vlen: the smallest VLEN in bits.

    Attributes:
      horizontal: the loops over taps along the innermost loop of lanes, one or none.
      vertical: those along the other edge, one or none.
      is_flat: whether there is no other edge.
      slot: bytes of a mask.
      first: register with the number of a panel's first lane.
      positions: registers with the index of the first line's first tap along the edges that loops around everything
        cross, by their number.

    Raises:
      Unsupported: the image has more edges than two, or the window is too large.
    """

    def __init__(self, out: Assembly, product: Product, vlen: int) -> None:
        padding = product.padding
        assert padding is not None and padding.operand == B
        self._out = out
        self._grid = product.grid
        self._bits = product.scheme.bits
        self.slot = vlen // self._bits
        edges = list(enumerate(padding.edges))
        near = [each for each in edges if step(self._grid[-1], each[0])] or edges[:1]
        others = [each for each in edges if each not in near]
        taps = [[loop for loop in product.summed if step(loop, number)] for number, _ in edges]
        if len(near) > 1 or len(others) > 1 or max(map(len, taps)) > 1:
            raise Unsupported("an image that is padded along so many axes")
        extent = math.prod(loop.extent for loop in self._grid)
        # Lanes have numbers of so many bits when they are divided by the length of a line.
        inexact = extent * self._grid[-1].extent >= 2**self._bits
        if len(self._grid) > 2 or inexact or product.lanes.strides[A]:
            raise Unsupported("lanes that are padded")
        (self._near,) = near
        self._far = others[0] if others else None
        self.is_flat = self._far is None
        self.horizontal = tuple(taps[self._near[0]])
        self.vertical = tuple(taps[self._far[0]]) if self._far else ()
        if self._extent(self.horizontal) > _MOST_TAPS:
            raise Unsupported("a large window that is padded")
        self.first = out.register()
        self.positions = {
            number: out.register()
            for number, _ in edges
            if any(step(loop, number) for loop in product.outer)
        }

    @property
    def behind(self) -> int:
        """Bytes of the masks for the taps along the innermost loop of lanes, which are first."""
        return self.slot * self._extent(self.horizontal)

    @property
    def bytes(self) -> int:
        return self.behind * (1 + (not self.is_flat) * self._extent(self.vertical))

    @property
    def cost(self) -> int:
        """Instructions for the masks of a panel, about."""
        return _INDICES + _MASK * self._extent(self.horizontal)

    def start(self, start_offsets: Mapping[int, str]) -> None:
        """Sets the positions; `start_offsets` are registers with how much further along an edge they begin."""
        for number, edge in (self._near, *([self._far] if self._far else [])):
            if number in self.positions:
                self._out.set(self.positions[number], -edge.low)
                if edge.moves:
                    position = self.positions[number]
                    self._out.emit(rvv.add(position, position, start_offsets[number]))

    def write(self, lanes: Lanes, to: str) -> None:
        """Emits the masks of a panel, and stores them at the address in a register. All vectors are free."""
        out = self._out
        lanes.use(out, lanes.bits)
        indices, free = self._indices(lanes)
        names = [f"v{1 + tap}" for tap in range(self._extent(self.horizontal))]
        with out.registers(1) as (address,):
            out.move(address, to)
            for mask in self._compared(*self._near, self.horizontal, indices, free, names):
                self._store(mask, address)
            if self._far is None:
                return

            def all_taps(far: tuple[int, Edge]) -> None:
                masks = ["v0"] * self._extent(self.vertical)
                for mask in self._compared(*far, self.vertical, indices, free, masks):
                    for other in names:
                        out.emit(rvv.and_masks(_BOTH, mask, other))
                        self._store(_BOTH, address)

            far = self._far
            self.unless_near(lanes, lambda: None, lambda: all_taps(far))

    def unless_near(
        self, lanes: Lanes, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Emits two texts: one for panels that are far from the other edge, and one for those that are near."""
        assert self._far is not None
        out = self._out
        number, edge = self._far
        reach = sum((loop.extent - 1) * step(loop, number) for loop in self.vertical)
        with out.registers(2) as (index, limit):
            # Lanes of several images may go on in the same line of the next image.
            if len(self._grid) > 1 and step(self._grid[0], number):
                stride, line = step(self._grid[0], number), self._grid[-1].extent
                start = -(-edge.low // stride) * line
                end = ((edge.extent - 1 - reach + edge.low) // stride + 1) * line
                out.move(index, self.first)
                out.add(index, -start)
                out.set(limit, max(0, end - start - lanes.count + 1))
            else:
                if number in self.positions:
                    out.move(index, self.positions[number])
                else:
                    out.set(index, -edge.low)
                out.set(limit, max(0, edge.extent - reach))
        out.within(index, limit, then, otherwise)

    def _store(self, mask: str, address: str) -> None:
        self._out.emit(rvv.store_mask(mask, address))
        self._out.add(address, self.slot)

    def _indices(self, lanes: Lanes) -> tuple[list[str], str]:
        """Emits the index of each lane in each loop of the grid; returns these groups, and a free one."""
        out = self._out
        # Masks are in the first eight registers.
        width = lanes.lmul
        first, second, third = (f"v{8 + number * width}" for number in range(3))
        out.emit(rvv.lane_numbers(first))
        out.emit(rvv.binary("vadd", first, first, self.first))
        if len(self._grid) < 2:
            return [first], second
        length = self._grid[-1].extent
        with out.registers(1) as (number,):
            # Rounded up, the inverse is exact for as many lanes as there are.
            out.set(number, -(-(2**self._bits) // length) % 2**self._bits)
            out.emit(rvv.binary("vmulhu", third, first, number))
            out.set(number, length)
            out.emit(rvv.binary("vmul", second, third, number))
            out.emit(rvv.binary("vsub", second, first, second))
        return [third, second], first

    def _compared(
        self,
        number: int,
        edge: Edge,
        taps: tuple[Loop, ...],
        indices: list[str],
        free: str,
        masks: list[str],
    ) -> Iterator[str]:
        """Emits for each tap along an edge the mask of lanes that are in the image, and yields it."""
        out = self._out
        moving = [place for place, loop in enumerate(self._grid) if step(loop, number)]
        with out.registers(2) as (value, extent):
            start = self.positions.get(number, value)
            if start == value:
                out.set(value, -edge.low)
            if not moving:
                out.emit(rvv.splat(free, start))
            else:
                stride = step(self._grid[moving[0]], number)
                source = indices[moving[0]]
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
