"""Takes products of int8 with constant weights: convolutions and matrix products."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bmc.libraries import (
    Call,
    Dispatch,
    Packed,
    Scratch,
    Sums,
    Way,
    WindowProduct,
    addition,
    addition_params,
    limits,
    output_numbers,
    packed_taps,
    per_output,
    requantization,
    result_steps,
    window_params,
    window_product,
)
from bmc.libraries.dispatch import Array

# Bytes of a lane, outputs that are computed at once, and registers of a group (windows.c, rows.c).
_QUAD, _TILE, _GROUP = 4, 3, 8
_LANE_BITS = 32
# Words that are added in one round of a loop.
_UNROLLED = 4
# Bytes of sorted pixels, unless one line of a block has more.
_LARGEST_BLOCK = 24 * 1024


def take(dispatch: Dispatch) -> Call | None:
    """Takes products whose results have one axis of outputs, and one or two of windows."""
    product = window_product(dispatch) if dispatch.a.dtype == "i8" else None
    if product is None:
        return None
    product, padded = _with_channels(product)
    rows, windows = _rows(dispatch, product), _windows(dispatch, product, padded)
    lanes = dispatch.vlen_bits // _LANE_BITS * _GROUP
    count = math.prod(way.windows for way in product.ways)
    is_wide = _tiles(count, product.outputs, lanes) < 1.1 * _tiles(product.outputs, count, lanes)
    return rows if rows and is_wide else windows


def _tiles(tiled: int, in_lanes: int, lanes: int) -> int:
    """Returns how many tiles there are."""
    return -(-tiled // _TILE) * -(-in_lanes // lanes)


def _with_channels(product: WindowProduct) -> tuple[WindowProduct, Way | None]:
    """Makes channels of the taps along x if a pixel has one channel, of which words would have three zeros.

    Also returns the way along x as it is in the image, if that is to be copied with what is beside it.
    """
    y, x = product.ways
    length = x.needed(x.windows)
    if product.channels > 1 or x.taps == 1 or y.pixels * length > _LARGEST_BLOCK:
        return product, None
    is_padded = (x.low, x.pixels) != (0, length)
    step = 1 if is_padded else x.step
    way = Way(x.windows, 1, step, x.stride, 0, 0, length)
    found = replace(product, ways=(y, way), channel=x.dilation * step, channels=x.taps)
    return found, x if is_padded else None


def _windows(dispatch: Dispatch, product: WindowProduct, padded: Way | None) -> Call | None:
    y, x = product.ways
    quads = -(-product.channels // _QUAD)
    starts = (y.step, x.step * x.stride, x.step, dispatch.a.offset, product.channels)
    is_words = product.channel == 1 and all(start % _QUAD == 0 for start in starts)
    lines, columns = _block(product, dispatch.vlen_bits, is_words)
    phase = -(-y.needed(lines) // y.stride)
    params = window_params(dispatch, product) | {
        "is_words": int(is_words),
        "block_lines": lines,
        "block_columns": columns,
        "phase_lines": phase,
        "quads": quads,
        "plane": y.stride * phase * columns,
        "whole_words": x.taps * quads // _UNROLLED * _UNROLLED,
    }
    copied = 0
    if padded:
        params |= {"image_line": x.pixels, "padded_line": y.step}
        params |= {"padded_step": padded.step, "padded_low": padded.low}
        params["padded_width"] = min(padded.pixels, x.pixels - padded.low)
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
    numbers = output_numbers(dispatch, product, first)
    if first is None or numbers is None:
        return Call(
            "dot_windows", (*arguments, Sums()), params | result_steps(product.sums), pads=True
        )
    params |= result_steps(product.result) | limits(first)
    arrays = tuple(per_output(number, product.outputs) for number in numbers)
    if added is None:
        every = (*arguments, *arrays, dispatch.result)
        return Call("dot_windows_i8", every, params, finishes=True, pads=True)
    params |= addition_params(added)
    every = (*arguments, *arrays, added.other, dispatch.result)
    return Call("dot_windows_added_i8", every, params, finishes=True, pads=True)


def _rows(dispatch: Dispatch, product: WindowProduct) -> Call | None:
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
    numbers = output_numbers(dispatch, product, found)
    if found is None or numbers is None:
        steps = {"result_y": product.sums[0], "result_x": product.sums[1]}
        return Call("dot_rows", (*arguments, Sums()), params | steps)
    steps = {"result_y": product.result[0], "result_x": product.result[1]}
    arrays = tuple(per_output(number, product.outputs) for number in numbers)
    every = (*arguments, *arrays, dispatch.result)
    return Call("dot_rows_i8", every, params | steps | limits(found), finishes=True)


def _block(product: WindowProduct, vlen_bits: int, is_words: bool) -> tuple[int, int]:
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


def _packed(dispatch: Dispatch, product: WindowProduct, weights: Array) -> Array:
    """Packs weights as dot_products.h says."""
    words = _words(dispatch, product, weights)
    whole = product.outputs // _TILE * _TILE
    tiles = words[:whole].reshape(-1, _TILE, words.shape[1]).transpose(0, 2, 1)
    return np.concatenate([tiles.reshape(-1), words[whole:].T.reshape(-1)])


def _words(dispatch: Dispatch, product: WindowProduct, weights: Array) -> Array:
    """Returns words of four channels, with zeros behind the last one: [output, word], taps before channels."""
    words = packed_taps(dispatch, product, weights, _QUAD).reshape(product.outputs, -1)
    return np.ascontiguousarray(words).view("<i4")
