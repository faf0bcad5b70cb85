"""Writes the products of one line of a sliding depthwise convolution: its load, its slides and its multiplications."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import B, Edge, Product
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.vectors import Lanes, Vectors, part
from bmc.kernels.unsupported import Unsupported


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel; `first` is the index of its first lane. `weights` and `pad_value` are registers."""

    lanes: Lanes
    first: int
    weights: list[str]
    pad_value: str


@dataclass(frozen=True, slots=True)
class Groups:
    """Vector groups of a line of pixels.

    Attributes:
      slid: a phase that has slid.
      phases: all phases as they are loaded, one behind the other.
      sources: their int8 sources, one behind the other; "" if there are none.
    """

    slid: str
    phases: str
    sources: str


class Lines:
    """Writes the products of lines.

    Args:
      product: the depthwise convolution.
      stride: pixels from lane to lane.
      taps: number of horizontal taps.
      edge: the horizontal edge of the image.

    Attributes:
      slides: by how many lanes the pixels of each tap slide, and their phase.

    Raises:
      Unsupported: some phases are not read.
    """

    def __init__(self, product: Product, stride: int, taps: int, edge: Edge) -> None:
        self._product = product
        self._stride = stride
        self._taps = taps
        self._extent = edge.extent
        self._width = WIDTHS[product.dtypes[B]]
        self.slides = [divmod(tap - edge.low, stride) for tap in range(taps)]
        if len({phase for _, phase in self.slides}) < stride:
            raise Unsupported("sliding along lines of which some pixels are not read")

    def _wide(self, lmul: int) -> int:
        """Registers of a group of pixels that is multiplied: f32, f16 or int16."""
        return lmul if self._product.scheme.is_float else max(1, lmul // 2)

    def narrow(self, lmul: int) -> int:
        """Registers of a group of pixels that is loaded: f32, f16 or int8."""
        return lmul if self._product.scheme.is_float else max(1, lmul // 4)

    def operands(self, lmul: int) -> int:
        """Registers not used by accumulators: the slid group, a group for each phase, and their int8 sources."""
        sources = 0 if self._product.scheme.is_float else self._stride * self.narrow(lmul)
        return (1 + self._stride) * self._wide(lmul) + sources

    def take(self, vectors: Vectors, lmul: int) -> Groups:
        """Takes the groups for a line of pixels."""

        def group(count: int, size: int) -> str:
            return vectors.take(count * size, lowest=True, alignment=size)

        wide, is_float = self._wide(lmul), self._product.scheme.is_float
        slid, phases = group(1, wide), group(self._stride, wide)
        return Groups(slid, phases, "" if is_float else group(self._stride, self.narrow(lmul)))

    def multiply_pad_value(
        self, out: Assembly, readers: dict[str, int], panel: Panel, groups: Groups
    ) -> None:
        """Emits the products of a line outside the image; `readers` are vertical taps by accumulator."""
        if not panel.pad_value:
            return
        out.emit(rvv.splat(groups.phases, panel.pad_value))
        for accumulator, down in readers.items():
            for along in range(self._taps):
                self._multiply(out, accumulator, down, along, groups.phases, panel)

    def multiply_line(
        self, out: Assembly, line: str, readers: dict[str, int], panel: Panel, groups: Groups
    ) -> None:
        """Emits the load of the line at the address in register `line`, and its products for all horizontal taps."""
        self._load_line(out, line, panel.lanes, groups)
        taps = {slide: tap for tap, slide in enumerate(self.slides)}
        for phase in range(self._stride):
            moves = [lanes for lanes, each in self.slides if each == phase]
            # Slide down, then up. vslide1up needs another destination, so two groups alternate.
            for direction in (range(max(moves) + 1), range(-1, min(moves) - 1, -1)):
                group, other = self._phase(groups, panel.lanes.lmul, phase), groups.slid
                for lanes in direction:
                    if lanes:
                        self._slide(out, line, (lanes, phase), (group, other), panel)
                        group, other = other, group if lanes < 0 else other
                    for accumulator, down in readers.items():
                        if (lanes, phase) in taps:
                            self._multiply(out, accumulator, down, taps[lanes, phase], group, panel)

    def _phase(self, groups: Groups, lmul: int, phase: int) -> str:
        """Returns the group of a phase, as it is loaded."""
        return part(groups.phases, phase * self._wide(lmul))

    def _load_line(self, out: Assembly, line: str, lanes: Lanes, groups: Groups) -> None:
        """Emits the load of a panel of a line: the group of each phase, widened if it is int8."""
        is_float, bits = self._product.scheme.is_float, 8 * self._width
        has_segments = self._stride > 1
        to = groups.sources or groups.phases
        if has_segments and not is_float:  # May be slower if SEW is not the width of the elements.
            out.use(lanes, 8)
        out.emit(rvv.load_segments(self._stride, bits, to, line))
        if is_float:
            return
        if has_segments:
            out.use(lanes, 16)
        for phase in range(self._stride):
            narrow = part(to, phase * self.narrow(lanes.lmul))
            out.emit(rvv.extend(2, self._phase(groups, lanes.lmul, phase), narrow))

    def _slide(
        self, out: Assembly, line: str, move: tuple[int, int], groups: tuple[str, str], panel: Panel
    ) -> None:
        """Emits the slide of the group of a phase by one lane, to a total of `move[0]` lanes, up if negative."""
        (lanes, phase), (source, to) = move, groups
        lane = lanes if lanes < 0 else panel.lanes.count + lanes - 1
        pixel = lane * self._stride + phase
        emit_slide = functools.partial(rvv.slide, to, source, up=lanes < 0)
        if not 0 <= panel.first * self._stride + pixel < self._extent:
            out.emit(emit_slide(panel.pad_value or "zero"))
            return
        with out.registers(1) as (number,):
            out.load(number, pixel * self._width, line, 8 * self._width)
            out.emit(emit_slide(number))

    def _multiply(
        self, out: Assembly, accumulator: str, down: int, along: int, group: str, panel: Panel
    ) -> None:
        """Emits the product of a group and the weight of a tap into an accumulator."""
        weight = panel.weights[down * self._taps + along]
        multiply = self._product.scheme.multiply
        out.emit(rvv.multiply_add(multiply, accumulator, weight, group))
