"""Takes products of int8 with constant weights: convolutions and matrix products."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from bmc.libraries import (
    Axis,
    Call,
    Dispatch,
    Operand,
    Packed,
    Requantization,
    Scratch,
    Sums,
    Term,
    addition,
    is_per_output,
    per_output,
    requantization,
)
from bmc.libraries.dispatch import Array

# Bytes of a lane, outputs that are computed at once, and registers of a group (windows.c, rows.c).
_QUAD, _TILE, _GROUP = 4, 3, 8
_LANE_BITS = 32
# Words that are added in one round of a loop.
_UNROLLED = 4
# Bytes of sorted pixels, unless one line of a block has more.
_LARGEST_BLOCK = 24 * 1024


@dataclass(frozen=True)
class _Way:
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
class _Product:
    """A product whose lanes are windows.

    Attributes:
      ways: of y and x.
      channel: bytes from channel to channel.
      channels: of a pixel.
      result, sums: elements from one result to the next along y, x and outputs, in the result and in Sums().
      outputs: how many there are.
      output: the number of their loop.
      order: the numbers of loops over outputs, taps and channels, as the weights are packed.
      padded: the way along x as it is in the image, if that is to be copied with what is beside it.
    """

    ways: tuple[_Way, _Way]
    channel: int
    channels: int
    result: tuple[int, int, int]
    sums: tuple[int, int, int]
    outputs: int
    output: int
    order: tuple[int, ...]
    padded: _Way | None = None


def take(dispatch: Dispatch) -> Call | None:
    """Takes products whose results have one axis of outputs, and one or two of windows."""
    product = _product(dispatch) if dispatch.a.dtype == "i8" else None
    if product is None:
        return None
    product = _with_channels(product)
    rows, windows = _rows(dispatch, product), _windows(dispatch, product)
    lanes = dispatch.vlen_bits // _LANE_BITS * _GROUP
    count = math.prod(way.windows for way in product.ways)
    is_wide = _tiles(count, product.outputs, lanes) < 1.1 * _tiles(product.outputs, count, lanes)
    return rows if rows and is_wide else windows


def _tiles(tiled: int, in_lanes: int, lanes: int) -> int:
    """Returns how many tiles there are."""
    return -(-tiled // _TILE) * -(-in_lanes // lanes)


def _product(dispatch: Dispatch) -> _Product | None:
    """Returns a dispatch as a product of windows and weights, None if it is something else."""
    steps = zip(
        dispatch.a.steps, dispatch.b.steps, dispatch.result.steps, dispatch.sums_steps, strict=True
    )
    axes = [Axis(loop.extent, *each) for loop, each in zip(dispatch.loops, steps, strict=True)]
    taps = dict(dispatch.windows)
    rows: list[tuple[int, Axis]] = []
    outputs, inputs = [], []
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
    ways = tuple(_way(dispatch, axes, number, axis, taps.get(number)) for number, axis in rows)
    edges = dispatch.padding.edges if dispatch.padding else ()
    if any(way is None for way in ways) or any(
        not any(edge.steps[number] for number, _ in rows if number >= 0) for edge in edges
    ):
        return None
    y, x = (axis for _, axis in rows)
    output, outer = outputs[0]
    return _Product(
        ways=ways,
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


def _with_channels(product: _Product) -> _Product:
    """Makes channels of the taps along x if a pixel has one channel, of which words would have three zeros."""
    y, x = product.ways
    length = x.needed(x.windows)
    if product.channels > 1 or x.taps == 1 or y.pixels * length > _LARGEST_BLOCK:
        return product
    is_padded = (x.low, x.pixels) != (0, length)
    step = 1 if is_padded else x.step
    way = _Way(x.windows, 1, step, x.stride, 0, 0, length)
    return replace(
        product,
        ways=(y, way),
        channel=x.dilation * step,
        channels=x.taps,
        padded=x if is_padded else None,
    )


def _way(
    dispatch: Dispatch, axes: list[Axis], number: int, axis: Axis, tap: int | None
) -> _Way | None:
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
    way = _Way(axis.extent, taps.extent, step, max(stride, 1), dilation, 0, 0)
    low, pixels = (edge.low, edge.extent) if edge else (0, way.needed(axis.extent))
    return replace(way, low=low, pixels=pixels)


def _is_one(outer: Axis, inner: Axis) -> bool:
    """Whether two axes visit everything as one would."""
    return all(
        getattr(outer, name) == inner.extent * getattr(inner, name)
        for name in ("image", "result", "sums")
    )


def _windows(dispatch: Dispatch, product: _Product) -> Call | None:
    y, x = product.ways
    quads = -(-product.channels // _QUAD)
    starts = (y.step, x.step * x.stride, x.step, dispatch.a.offset, product.channels)
    is_words = product.channel == 1 and all(start % _QUAD == 0 for start in starts)
    lines, columns = _block(product, dispatch.vlen_bits, is_words)
    phase = -(-y.needed(lines) // y.stride)
    params = {
        "lines": y.windows,
        "columns": x.windows,
        "outputs": product.outputs,
        "image_line": x.pixels if product.padded else y.step,
        "image_pixel": x.step,
        "image_channel": product.channel,
        "width": x.pixels,
        "height": y.pixels,
        "channels": product.channels,
        "is_words": int(is_words),
        "low_x": x.low,
        "low_y": y.low,
        "filler": int(dispatch.padding.value) if dispatch.padding else 0,
        "tap_lines": y.taps,
        "tap_columns": x.taps,
        "dilation_x": x.dilation,
        "dilation_y": y.dilation,
        "stride_x": x.stride,
        "stride_y": y.stride,
        "block_lines": lines,
        "block_columns": columns,
        "phase_lines": phase,
        "quads": quads,
        "plane": y.stride * phase * columns,
        "whole_words": x.taps * quads // _UNROLLED * _UNROLLED,
    }
    copied = 0
    if product.padded:
        low, step = product.padded.low, product.padded.step
        width = min(product.padded.pixels, x.pixels - low)
        params |= {"padded_width": width, "padded_line": y.step}
        params |= {"padded_step": step, "padded_low": low}
        copied = y.pixels * x.pixels
    taps = [tap * y.dilation for tap in range(y.taps)]
    arguments = (
        dispatch.a,
        Packed(dispatch.b, lambda weights: _packed(dispatch, product, weights)),
        np.array([(tap % y.stride * phase + tap // y.stride) * columns for tap in taps], np.int32),
        Scratch(x.taps * quads * y.stride * phase * columns * _QUAD + copied),
    )
    added = addition(dispatch)
    first = added.first if added else requantization(dispatch)
    numbers = _numbers(dispatch, product, first)
    if first is None or numbers is None:
        return Call("dot_windows", (*arguments, Sums()), params | _steps(product.sums), pads=True)
    params |= _steps(product.result) | _limits(first)
    arrays = tuple(per_output(number, product.outputs) for number in numbers)
    if added is None:
        every = (*arguments, *arrays, dispatch.result)
        return Call("dot_windows_i8", every, params, finishes=True, pads=True)
    params |= _term("a", added.a) | _term("b", added.b) | {"b_zero": added.b.zero}
    params |= {
        "added_multiplier": added.total.scale.multiplier,
        "added_down": int(added.total.scale.is_down),
        "added_shift": added.total.scale.shift,
        "added_zero": added.total.zero,
        "added_low": added.total.low,
        "added_high": added.total.high,
    }
    every = (*arguments, *arrays, added.other, dispatch.result)
    return Call("dot_windows_added_i8", every, params, finishes=True, pads=True)


def _rows(dispatch: Dispatch, product: _Product) -> Call | None:
    """Returns the call for rows that are words, with neighbors as results; None for others."""
    y, x = product.ways
    size = product.channels
    starts = (size, y.step * y.stride, x.step * x.stride, dispatch.a.offset)
    is_words = product.channel == 1 and all(start % _QUAD == 0 for start in starts)
    if not is_words or y.taps * x.taps > 1 or product.result[2] != 1 or product.sums[2] != 1:
        return None
    if dispatch.padding or addition(dispatch):
        return None
    params = {
        "lines": y.windows,
        "columns": x.windows,
        "outputs": product.outputs,
        "words": size // _QUAD,
        "image_y": y.step * y.stride,
        "image_x": x.step * x.stride,
    }

    def pack(weights: Array) -> Array:
        return np.ascontiguousarray(_words(dispatch, product, weights).T)

    arguments = (dispatch.a, Packed(dispatch.b, pack))
    found = requantization(dispatch)
    numbers = _numbers(dispatch, product, found)
    if found is None or numbers is None:
        steps = {"result_y": product.sums[0], "result_x": product.sums[1]}
        return Call("dot_rows", (*arguments, Sums()), params | steps)
    steps = {"result_y": product.result[0], "result_x": product.result[1]}
    arrays = tuple(per_output(number, product.outputs) for number in numbers)
    every = (*arguments, *arrays, dispatch.result)
    return Call("dot_rows_i8", every, params | steps | _limits(found), finishes=True)


def _numbers(
    dispatch: Dispatch, product: _Product, how: Requantization | None
) -> tuple[Operand | int, ...] | None:
    """Returns bias, multiplier and shift of a requantization; None if they are not those of an output."""
    if how is None:
        return None
    numbers = (how.bias, how.scale.multiplier, how.scale.shift)
    is_known = all(is_per_output(dispatch, number, product.output) for number in numbers)
    return numbers if is_known else None


def _limits(how: Requantization) -> dict[str, int]:
    return {
        "up": how.scale.up,
        "down_if_negative": int(how.scale.is_down),
        "zero": how.zero,
        "low": how.low,
        "high": how.high,
    }


def _steps(steps: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip(("result_y", "result_x", "result_o"), steps, strict=True))


def _term(name: str, term: Term) -> dict[str, int]:
    scale = term.scale
    numbers = {"up": term.up}
    if scale is not None:
        numbers |= {
            "multiplier": scale.multiplier,
            "down": int(scale.is_down),
            "shift": scale.shift,
        }
    return {f"{name}_{field}": number for field, number in numbers.items()}


def _block(product: _Product, vlen_bits: int, is_words: bool) -> tuple[int, int]:
    """Returns how many lines and columns of windows a block has: about the cheapest of those that are small."""
    y, x = product.ways
    lanes = vlen_bits // _LANE_BITS * _GROUP
    quads = -(-product.channels // _QUAD)
    tile = product.outputs * (3 * y.taps * x.taps * quads + 25)
    is_dense = all(steps[0] == x.windows * steps[1] for steps in (product.result, product.sums))
    columns = min(x.windows, lanes if x.taps == 1 and y.windows == 1 else 2 * lanes)
    found: list[tuple[int, int]] = []
    for lines in range(1, y.windows + 1) if is_dense and columns == x.windows else (1,):
        planes = x.taps * quads * y.stride * -(-y.needed(lines) // y.stride)
        if found and planes * columns * _QUAD > _LARGEST_BLOCK:
            break
        blocks, rest = divmod(y.windows, lines)
        tiles = blocks * -(-lines * columns // lanes) + -(-rest * columns // lanes)
        sorting = (
            -(-columns // lanes) * y.needed(lines) * x.taps * (10 + quads * (4 if is_words else 10))
        )
        found.append((tiles * tile + (blocks + bool(rest)) * sorting, lines))
    return min(found)[1], columns


def _packed(dispatch: Dispatch, product: _Product, weights: Array) -> Array:
    """Packs weights as dot_products.h says."""
    words = _words(dispatch, product, weights)
    whole = product.outputs // _TILE * _TILE
    tiles = words[:whole].reshape(-1, _TILE, words.shape[1]).transpose(0, 2, 1)
    return np.concatenate([tiles.reshape(-1), words[whole:].T.reshape(-1)])


def _words(dispatch: Dispatch, product: _Product, weights: Array) -> Array:
    """Returns words of four channels, with zeros behind the last one: [output, word], taps before channels."""
    moving = [number for number, step in enumerate(dispatch.b.steps) if step]
    order = [number for number in product.order if number in moving]
    order += [number for number in moving if number not in order]
    taps = weights.transpose([moving.index(number) for number in order])
    taps = taps.reshape(product.outputs, -1, product.channels)
    padding = -product.channels % _QUAD
    words = np.pad(taps, ((0, 0), (0, 0), (0, padding))).reshape(product.outputs, -1)
    return np.ascontiguousarray(words).view("<i4")
