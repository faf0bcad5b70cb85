"""Takes products of int8 with constant weights: convolutions and matrix products."""

from __future__ import annotations

import numpy as np

from bmc.libraries import (
    Call,
    Dispatch,
    Packed,
    Scratch,
    Sums,
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

# Channels of a step, and pixels and outputs of a tile (windows.c).
_STEP, _PIXELS, _OUTPUTS = 8, 8, 16
# With fewer in a line, or fewer channels, most of what is multiplied is not there.
_FEWEST_COLUMNS, _FEWEST_CHANNELS = 4, 4
# Bytes of packed pixels, unless one line of windows, or one tile of a matrix's rows, has more.
_LARGEST_BLOCK = 24 * 1024


def take(dispatch: Dispatch) -> Call | None:
    """Takes products whose results have one axis of outputs, and one or two of windows."""
    found = windows(dispatch) if dispatch.a.dtype == "i8" else None
    if found is None or found.is_depthwise or len(found.channels) > 1:
        return None
    if found.channel_count < _FEWEST_CHANNELS or found.x.windows < _FEWEST_COLUMNS:
        return None
    groups = -(-found.channel_count // _STEP)
    layout = _layout(found, groups)
    params = window_params(found) | layout
    arguments = (
        dispatch.a,
        Packed(dispatch.b, lambda weights: _packed(found, weights)),
        _offsets(found, groups, layout),
        Scratch(layout["phases"] * groups * layout["needed"] * layout["line_pixels"] * _STEP),
    )
    added = addition(dispatch)
    first = added.first if added else requantization(dispatch)
    arrays = output_numbers(found, first)
    if first is None or arrays is None:
        every = (*arguments, Sums())
        return Call("matrix_windows", every, params | sums_steps(found), pads=True)
    params |= result_steps(found) | limits(first)
    if added is None:
        every = (*arguments, *arrays, dispatch.result)
        return Call("matrix_windows_i8", every, params, finishes=True, pads=True)
    every = (*arguments, *arrays, added.other, dispatch.result)
    params |= addition_params(added)
    return Call("matrix_windows_added_i8", every, params, finishes=True, pads=True)


def _layout(found: Windows, groups: int) -> dict[str, int]:
    """Returns how many windows a block has, and how its pixels are packed."""
    y, x = found.y, found.x
    taps = [tap * x.dilation for tap in range(x.taps)]
    phases = max(tap % x.stride for tap in taps) + 1
    behind = max(tap // x.stride for tap in taps)
    pixel = phases * groups * _STEP
    columns = -(-x.windows // _PIXELS) * _PIXELS
    if y.windows == x.taps == 1:
        columns = min(columns, max(_LARGEST_BLOCK // pixel // _PIXELS, 1) * _PIXELS)
    line = columns + behind
    lines = 1
    while lines < y.windows and y.needed(lines + 1) * line * pixel <= _LARGEST_BLOCK:
        lines += 1
    return {
        "block_lines": lines,
        "block_columns": columns,
        "phases": phases,
        "groups": groups,
        "needed": y.needed(lines),
        "line_pixels": line,
        "steps": y.taps * x.taps * groups,
    }


def _offsets(found: Windows, groups: int, layout: dict[str, int]) -> Array:
    """Returns where the packed bytes of each step are, from those of a window's first pixel on."""
    y, x = found.y, found.x
    taps_y, taps_x = (np.arange(way.taps) * way.dilation for way in (y, x))
    plane = taps_x[None, :, None] % x.stride * groups + np.arange(groups)
    line = plane * layout["needed"] + taps_y[:, None, None]
    pixel = line * layout["line_pixels"] + taps_x[None, :, None] // x.stride
    return np.asarray(pixel.reshape(-1) * _STEP, np.int32)


def _packed(found: Windows, weights: Array) -> Array:
    """Packs weights as matrix_instructions.h says."""
    taps = found.packed_taps(weights, _STEP)
    steps = taps.reshape(len(taps), -1, _STEP)
    steps = np.pad(steps, ((0, -len(taps) % _OUTPUTS), (0, 0), (0, 0)))
    tiles = steps.reshape(-1, _OUTPUTS, *steps.shape[1:]).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(tiles).reshape(-1)
