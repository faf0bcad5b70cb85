"""Products as sums over windows of an image: convolutions, matrix products and depthwise convolutions alike."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from bmc.libraries.convolutions import Axis, axes_of
from bmc.libraries.dispatch import Array, Dispatch, Edge


@dataclass(frozen=True)
class Way:
    """One axis of an image: windows along it, the pixels of each, and the image's own.

    Attributes:
      windows, taps: extents.
      step: elements from pixel to pixel.
      stride, dilation: pixels from window to window, and from tap to tap.
      low: pixels before the image that the first window begins with.
      pixels: of the image.
      result, sums: elements from the result of a window to that of the next, in the result and in Sums().
    """

    windows: int
    taps: int
    step: int
    stride: int
    dilation: int
    low: int
    pixels: int
    result: int = 0
    sums: int = 0

    def needed(self, windows: int) -> int:
        """Pixels from the first one to the last one of so many windows."""
        return (windows - 1) * self.stride + (self.taps - 1) * self.dilation + 1

    @property
    def axis(self) -> Axis:
        """The windows, whichever pixels they are of."""
        image = self.step * self.stride
        return Axis(self.windows, image=image, result=self.result, sums=self.sums)


@dataclass(frozen=True)
class Windows:
    """result[y, x, output] = sum over taps and channels of image[y, x, tap, channel] * weight[output, tap, channel].

    The image is the dispatch's first operand.

    Attributes:
      dispatch: what is computed.
      y, x: the windows. Rows of a matrix are windows along x.
      output: the loop over outputs. If it moves the image, the convolution is depthwise.
      output_loop: its number in the dispatch, -1 if there is one output.
      channels: what is summed of each pixel; neighboring loops that visit the image as one would are one axis.
      summed: what is summed, as loops: taps along y and x before channels, each with its number in the dispatch.
    """

    dispatch: Dispatch
    y: Way
    x: Way
    output: Axis
    output_loop: int
    channels: tuple[Axis, ...]
    summed: tuple[tuple[int, Axis], ...]

    @property
    def is_depthwise(self) -> bool:
        return self.output.image != 0

    @property
    def channel_count(self) -> int:
        """Channels of a pixel that are summed."""
        return math.prod(axis.extent for axis in self.channels)

    @property
    def rows(self) -> tuple[Axis, Axis]:
        """The windows for those to whom pixels do not matter: one axis if they are visited as one would be."""
        merged = _merged([axis for axis in (self.y.axis, self.x.axis) if axis.extent > 1])
        y, x = [Axis()] * (2 - len(merged)) + merged
        return y, x

    @property
    def runs(self) -> tuple[Axis, ...]:
        """What is summed, the largest steps of the image first; neighbors that are visited as one would be are one."""
        return tuple(_merged([axis for _, axis in self._by_step]))

    @property
    def size(self) -> int:
        """Elements of a window."""
        return math.prod(axis.extent for _, axis in self.summed)

    def matrix(self, weights: Array) -> Array:
        """Returns weights, as Packed gives them, with the shape [outputs, size], in the order of `runs`."""
        return self._ordered(weights, [number for number, _ in self._by_step])

    def packed_taps(self, weights: Array, multiple: int) -> Array:
        """Returns weights, as Packed gives them, as [output, tap, channel].

        Args:
          weights: with an axis for each loop that moves the weight.
          multiple: zeros follow the last channel up to a multiple of so many.
        """
        taps = self._ordered(weights, [number for number, _ in self.summed])
        taps = taps.reshape(self.output.extent, -1, self.channel_count)
        return np.pad(taps, ((0, 0), (0, 0), (0, -self.channel_count % multiple)))

    @property
    def _by_step(self) -> list[tuple[int, Axis]]:
        return sorted(self.summed, key=lambda each: -each[1].image)

    def _ordered(self, weights: Array, summed: list[int]) -> Array:
        """Returns weights as [output, what is summed], for loops in that order."""
        moving = [number for number, step in enumerate(self.dispatch.b.steps) if step]
        wanted = [self.output_loop] * (self.output_loop >= 0) + summed
        order = [moving.index(number) for number in wanted]
        order += [axis for axis, number in enumerate(moving) if number not in wanted]
        return weights.transpose(order).reshape(self.output.extent, self.size)


def windows(dispatch: Dispatch) -> Windows | None:
    """Returns a dispatch as sums over windows; None if it has more axes than that, or pads others than y and x."""
    axes = axes_of(dispatch)
    taps = {loop: tap for loop, tap in dispatch.windows if axes[tap].extent > 1}
    rows: list[tuple[int, Axis]] = []
    outputs: list[tuple[int, Axis]] = []
    inputs: list[tuple[int, Axis]] = []
    for number, (loop, axis) in enumerate(zip(dispatch.loops, axes, strict=True)):
        if axis.extent == 1 and number not in taps or number in taps.values():
            continue
        kind = inputs if loop.is_summed else outputs if axis.weight else rows
        kind.append((number, axis))
    if not taps and not dispatch.padding:
        rows = [(-1, axis) for axis in _merged([axis for _, axis in rows])]
    if len(rows) > 2 or len(outputs) > 1:
        return None
    edges = dispatch.padding.edges if dispatch.padding else ()
    edge_of = {
        number: edge for number, _ in rows for edge in edges if number >= 0 and edge.steps[number]
    }
    if any(edge not in edge_of.values() for edge in edges):
        return None
    rows = [(-1, Axis())] * (2 - len(rows)) + rows
    y, x = (_way(axes, row, taps.get(row[0]), edge_of.get(row[0])) for row in rows)
    summed = [(taps[number], axes[taps[number]]) for number, _ in rows if number in taps] + inputs
    if y is None or x is None or not summed or not all(axis.weight for _, axis in summed):
        return None
    output_loop, output = outputs[0] if outputs else (-1, Axis(result=1, sums=1))
    channels = tuple(_merged([axis for _, axis in inputs]))
    return Windows(dispatch, y, x, output, output_loop, channels, tuple(summed))


def _way(axes: list[Axis], row: tuple[int, Axis], tap: int | None, edge: Edge | None) -> Way | None:
    """Returns the windows of a loop, or of several, as pixels; None if a step is not that of whole pixels."""
    number, axis = row
    taps = axes[tap] if tap is not None else Axis()
    if edge is None:
        step = math.gcd(axis.image, taps.image)
        stride, dilation = (each // step if step else 0 for each in (axis.image, taps.image))
    else:
        stride, dilation = edge.steps[number], edge.steps[tap] if tap is not None else 0
        step = axis.image // stride
    if (axis.image, taps.image) != (stride * step, dilation * step):
        return None
    way = Way(
        axis.extent, taps.extent, step, max(stride, 1), dilation, 0, 0, axis.result, axis.sums
    )
    low, pixels = (edge.low, edge.extent) if edge else (0, way.needed(axis.extent))
    return replace(way, low=low, pixels=pixels)


def _merged(axes: list[Axis]) -> list[Axis]:
    """Makes one axis of neighbors that visit image and result as one would."""
    found: list[Axis] = []
    for axis in axes:
        last = found[-1] if found else None
        if last and (last.image, last.result, last.sums) == tuple(
            axis.extent * step for step in (axis.image, axis.result, axis.sums)
        ):
            found[-1] = replace(axis, extent=last.extent * axis.extent)
        else:
            found.append(axis)
    return found
