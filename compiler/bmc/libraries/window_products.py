"""Products of windows with weights: convolutions and matrix products, as libraries for int8 compute them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from bmc.libraries.convolutions import Axis
from bmc.libraries.dispatch import Array, Dispatch, Operand
from bmc.libraries.requantization import Addition, Number, Requantization, Term, is_per_output


@dataclass(frozen=True)
class Way:
    """One axis of an image: windows along it, the pixels of each, and the image's own.

    Attributes:
      windows, taps: extents.
      step: bytes from pixel to pixel.
      stride, dilation: pixels from window to window, and from tap to tap.
      low: pixels before the image that the first window begins with.
      pixels: of the image.
    """

    windows: int
    taps: int
    step: int
    stride: int
    dilation: int
    low: int
    pixels: int

    def needed(self, windows: int) -> int:
        """Pixels from the first one to the last one of so many windows."""
        return (windows - 1) * self.stride + (self.taps - 1) * self.dilation + 1


@dataclass(frozen=True)
class WindowProduct:
    """A product of windows of an image, or of rows of a matrix, with weights.

    Attributes:
      ways: of y and x.
      channel: bytes from channel to channel.
      channels: of a pixel.
      result, sums: elements from one result to the next along y, x and outputs, in the result and in Sums().
      outputs: how many there are.
      output: the number of their loop.
      order: the numbers of loops over outputs, taps and channels, as the weights are packed.
    """

    ways: tuple[Way, Way]
    channel: int
    channels: int
    result: tuple[int, int, int]
    sums: tuple[int, int, int]
    outputs: int
    output: int
    order: tuple[int, ...]


def window_product(dispatch: Dispatch) -> WindowProduct | None:
    """Returns a dispatch as a product of windows and weights, None if it is something else."""
    steps = zip(
        dispatch.a.steps, dispatch.b.steps, dispatch.result.steps, dispatch.sums_steps, strict=True
    )
    axes = [Axis(loop.extent, *each) for loop, each in zip(dispatch.loops, steps, strict=True)]
    taps = dict(dispatch.windows)
    rows: list[tuple[int, Axis]] = []
    outputs: list[tuple[int, Axis]] = []
    inputs: list[tuple[int, Axis]] = []
    for number, (loop, axis) in enumerate(zip(dispatch.loops, axes, strict=True)):
        if axis.extent == 1 and number not in taps or number in taps.values():
            continue
        kind = inputs if loop.is_summed else outputs if axis.weight else rows
        kind.append((number, axis))
    if not taps and len(rows) == 2 and _is_one(rows[0][1], rows[1][1]):
        extent = rows[0][1].extent * rows[1][1].extent
        rows = [(rows[1][0], replace(rows[1][1], extent=extent))]
    channels = [axis for _, axis in inputs]
    is_whole = all(
        one.image == next_.extent * next_.image for one, next_ in itertools.pairwise(channels)
    )
    if len(rows) > 2 or len(outputs) != 1 or outputs[0][1].image or not is_whole:
        return None
    rows = [(-1, Axis())] * (2 - len(rows)) + rows
    way_y, way_x = (_way(dispatch, axes, number, axis, taps.get(number)) for number, axis in rows)
    edges = dispatch.padding.edges if dispatch.padding else ()
    if way_y is None or way_x is None:
        return None
    if any(not any(edge.steps[number] for number, _ in rows if number >= 0) for edge in edges):
        return None
    y, x = (axis for _, axis in rows)
    output, outer = outputs[0]
    return WindowProduct(
        ways=(way_y, way_x),
        channel=channels[-1].image if channels else 0,
        channels=math.prod(axis.extent for axis in channels),
        result=(y.result, x.result, outer.result),
        sums=(y.sums, x.sums, outer.sums),
        outputs=outer.extent,
        output=output,
        order=(
            output,
            *(taps[number] for number, _ in rows if number in taps),
            *(number for number, _ in inputs),
        ),
    )


def _way(
    dispatch: Dispatch, axes: list[Axis], number: int, axis: Axis, tap: int | None
) -> Way | None:
    taps = axes[tap] if tap is not None else Axis()
    edges = dispatch.padding.edges if dispatch.padding and number >= 0 else ()
    edge = next((edge for edge in edges if edge.steps[number]), None)
    if edge is None:
        step = math.gcd(axis.image, taps.image)
        stride, dilation = (each // step if step else 0 for each in (axis.image, taps.image))
    else:
        stride, dilation = edge.steps[number], edge.steps[tap] if tap is not None else 0
        step = axis.image // stride
    if (axis.image, taps.image) != (stride * step, dilation * step):
        return None
    way = Way(axis.extent, taps.extent, step, max(stride, 1), dilation, 0, 0)
    low, pixels = (edge.low, edge.extent) if edge else (0, way.needed(axis.extent))
    return replace(way, low=low, pixels=pixels)


def _is_one(outer: Axis, inner: Axis) -> bool:
    """Whether two axes visit everything as one would."""
    return all(
        getattr(outer, name) == inner.extent * getattr(inner, name)
        for name in ("image", "result", "sums")
    )


def window_params(dispatch: Dispatch, product: WindowProduct) -> dict[str, int]:
    """Returns the image and its windows as fields of a call's parameters."""
    y, x = product.ways
    return {
        "lines": y.windows,
        "columns": x.windows,
        "outputs": product.outputs,
        "image_line": y.step,
        "image_pixel": x.step,
        "image_channel": product.channel,
        "width": x.pixels,
        "height": y.pixels,
        "channels": product.channels,
        "low_x": x.low,
        "low_y": y.low,
        "filler": int(dispatch.padding.value) if dispatch.padding else 0,
        "tap_lines": y.taps,
        "tap_columns": x.taps,
        "dilation_x": x.dilation,
        "dilation_y": y.dilation,
        "stride_x": x.stride,
        "stride_y": y.stride,
    }


def output_numbers(
    dispatch: Dispatch, product: WindowProduct, how: Requantization | None
) -> tuple[Operand | int, ...] | None:
    """Returns bias, multiplier and shift of a requantization; None if they are not those of an output."""
    if how is None:
        return None
    numbers = (how.bias, how.scale.multiplier, how.scale.shift)
    is_known = all(is_per_output(dispatch, number, product.output) for number in numbers)
    return numbers if is_known else None


def limits(how: Requantization) -> dict[str, int]:
    """Returns what is the same for all outputs of a requantization, as fields of a call's parameters."""
    return {
        "up": how.scale.up,
        "down_if_negative": int(how.scale.is_down),
        "zero": how.zero,
        "low": how.low,
        "high": how.high,
    }


def result_steps(steps: tuple[int, int, int]) -> dict[str, int]:
    """Returns steps along y, x and outputs as fields of a call's parameters."""
    return dict(zip(("result_y", "result_x", "result_o"), steps, strict=True))


def addition_params(added: Addition) -> dict[str, int]:
    """Returns how another int8 is added, as fields of a call's parameters."""
    total = added.total
    return (
        _term("a", added.a)
        | _term("b", added.b)
        | {
            "b_zero": added.b.zero,
            "added_multiplier": _same(total.scale.multiplier),
            "added_down": int(total.scale.is_down),
            "added_shift": _same(total.scale.shift),
            "added_zero": total.zero,
            "added_low": total.low,
            "added_high": total.high,
        }
    )


def _same(number: Number) -> int:
    """Returns a number of an addition, which is the same for all outputs."""
    assert not isinstance(number, Operand)
    return number


def _term(name: str, term: Term) -> dict[str, int]:
    scale = term.scale
    numbers = {"up": term.up}
    if scale is not None:
        numbers |= {
            "multiplier": _same(scale.multiplier),
            "down": int(scale.is_down),
            "shift": _same(scale.shift),
        }
    return {f"{name}_{field}": number for field, number in numbers.items()}


def packed_taps(dispatch: Dispatch, product: WindowProduct, weights: Array, channels: int) -> Array:
    """Returns weights as [output, tap, channel], with zeros behind the last channel up to a multiple of `channels`."""
    moving = [number for number, step in enumerate(dispatch.b.steps) if step]
    order = [number for number in product.order if number in moving]
    order += [number for number in moving if number not in order]
    taps = weights.transpose([moving.index(number) for number in order])
    taps = taps.reshape(product.outputs, -1, product.channels)
    return np.pad(taps, ((0, 0), (0, 0), (0, -product.channels % channels)))
