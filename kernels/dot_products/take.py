"""Takes products of int8 with constant weights: convolutions and matrix products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bmc.libraries import (
    Axis,
    Call,
    Dispatch,
    Packed,
    Scratch,
    Sums,
    Way,
    Windows,
    addition,
    addition_params,
    limits,
    output_numbers,
    requantization,
    result_steps,
    sums_steps,
    window_params,
    windows,
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
    found = windows(dispatch) if dispatch.a.dtype == "i8" else None
    if found is None or found.is_depthwise or len(found.channels) > 1:
        return None
    found, padded = _with_channels(found)
    by_output, by_window = _rows(found), _windows(found, padded)
    lanes = dispatch.vlen_bits // _LANE_BITS * _GROUP
    count, outputs = found.y.windows * found.x.windows, found.output.extent
    is_wide = _tiles(count, outputs, lanes) < 1.1 * _tiles(outputs, count, lanes)
    return by_output if by_output and is_wide else by_window


def _tiles(tiled: int, in_lanes: int, lanes: int) -> int:
    """Returns how many tiles there are."""
    return -(-tiled // _TILE) * -(-in_lanes // lanes)


def _with_channels(found: Windows) -> tuple[Windows, Way | None]:
    """Makes channels of the taps along x if a pixel has one channel, of which words would have three zeros.

    Also returns the way along x as it is in the image, if that is to be copied with what is beside it.
    """
    y, x = found.y, found.x
    length = x.needed(x.windows)
    if found.channel_count > 1 or x.taps == 1 or y.pixels * length > _LARGEST_BLOCK:
        return found, None
    is_padded = (x.low, x.pixels) != (0, length)
    step = 1 if is_padded else x.step
    way = replace(x, taps=1, step=step, dilation=0, low=0, pixels=length)
    channels = (Axis(x.taps, image=x.dilation * step),)
    return replace(found, x=way, channels=channels), x if is_padded else None


def _windows(found: Windows, padded: Way | None) -> Call | None:
    dispatch, y, x = found.dispatch, found.y, found.x
    quads = -(-found.channel_count // _QUAD)
    is_words = _is_words(found, y.step, x.step * x.stride, x.step)
    lines, columns = _block(found, is_words)
    phase = -(-y.needed(lines) // y.stride)
    params = window_params(found) | {
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
        Packed(dispatch.b, lambda weights: _packed(found, weights)),
        np.array([(tap % y.stride * phase + tap // y.stride) * columns for tap in taps], np.int32),
        Scratch(x.taps * quads * y.stride * phase * columns * _QUAD + copied),
    )
    added = addition(dispatch)
    first = added.first if added else requantization(dispatch)
    arrays = output_numbers(found, first)
    if first is None or arrays is None:
        return Call("dot_windows", (*arguments, Sums()), params | sums_steps(found), pads=True)
    params |= result_steps(found) | limits(first)
    if added is None:
        every = (*arguments, *arrays, dispatch.result)
        return Call("dot_windows_i8", every, params, finishes=True, pads=True)
    params |= addition_params(added)
    every = (*arguments, *arrays, added.other, dispatch.result)
    return Call("dot_windows_added_i8", every, params, finishes=True, pads=True)


def _is_words(found: Windows, *steps: int) -> bool:
    """Whether channels are whole words, wherever such steps lead to."""
    starts = (*steps, found.dispatch.a.offset, found.channel_count)
    channels_are_neighbors = bool(found.channels) and found.channels[0].image == 1
    return channels_are_neighbors and all(start % _QUAD == 0 for start in starts)


def _rows(found: Windows) -> Call | None:
    """Returns the call for rows that are words, with neighbors as results; None for others."""
    dispatch, y, x, output = found.dispatch, found.y, found.x, found.output
    if not _is_words(found, y.step * y.stride, x.step * x.stride) or y.taps * x.taps > 1:
        return None
    if output.result != 1 or output.sums != 1 or dispatch.padding or addition(dispatch):
        return None
    params = {
        "lines": y.windows,
        "columns": x.windows,
        "outputs": output.extent,
        "words": found.channel_count // _QUAD,
        "image_y": y.step * y.stride,
        "image_x": x.step * x.stride,
    }

    def pack(weights: Array) -> Array:
        return np.ascontiguousarray(_words(found, weights).T)

    arguments = (dispatch.a, Packed(dispatch.b, pack))
    how = requantization(dispatch)
    arrays = output_numbers(found, how)
    if how is None or arrays is None:
        steps = {"result_y": y.sums, "result_x": x.sums}
        return Call("dot_rows", (*arguments, Sums()), params | steps)
    steps = {"result_y": y.result, "result_x": x.result}
    every = (*arguments, *arrays, dispatch.result)
    return Call("dot_rows_i8", every, params | steps | limits(how), finishes=True)


def _block(found: Windows, is_words: bool) -> tuple[int, int]:
    """Returns how many lines and columns of windows a block has: about the cheapest of those that are small."""
    y, x = found.y, found.x
    lanes = found.dispatch.vlen_bits // _LANE_BITS * _GROUP
    quads = -(-found.channel_count // _QUAD)
    tile = found.output.extent * (3 * y.taps * x.taps * quads + 25)
    is_dense = (y.result, y.sums) == (x.windows * x.result, x.windows * x.sums)
    columns = min(x.windows, lanes if x.taps == 1 and y.windows == 1 else 2 * lanes)
    costs: list[tuple[int, int]] = []
    for lines in range(1, y.windows + 1) if is_dense and columns == x.windows else (1,):
        planes = x.taps * quads * y.stride * -(-y.needed(lines) // y.stride)
        if costs and planes * columns * _QUAD > _LARGEST_BLOCK:
            break
        blocks, rest = divmod(y.windows, lines)
        tiles = blocks * -(-lines * columns // lanes) + -(-rest * columns // lanes)
        sorting = (
            -(-columns // lanes) * y.needed(lines) * x.taps * (10 + quads * (4 if is_words else 10))
        )
        costs.append((tiles * tile + (blocks + bool(rest)) * sorting, lines))
    return min(costs)[1], columns


def _packed(found: Windows, weights: Array) -> Array:
    """Packs weights as dot_products.h says."""
    words = _words(found, weights)
    whole = len(words) // _TILE * _TILE
    tiles = words[:whole].reshape(-1, _TILE, words.shape[1]).transpose(0, 2, 1)
    return np.concatenate([tiles.reshape(-1), words[whole:].T.reshape(-1)])


def _words(found: Windows, weights: Array) -> Array:
    """Returns words of four channels, with zeros behind the last one: [output, word], taps before channels."""
    words = found.packed_taps(weights, _QUAD).reshape(found.output.extent, -1)
    return np.ascontiguousarray(words).view("<i4")
