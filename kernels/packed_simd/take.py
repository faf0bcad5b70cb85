"""Takes products of int8 whose bytes are summed in runs, and depthwise convolutions of channels behind pixels."""

from __future__ import annotations

import numpy as np

from bmc.libraries import (
    Axis,
    Call,
    Dispatch,
    Operand,
    Packed,
    Scratch,
    Sums,
    Windows,
    per_output,
    requantization_by_output,
    windows,
)
from bmc.libraries.dispatch import Array

# Bytes of a word, outputs and windows of a tile, taps of a word, and channels of a group (dot.c, depthwise.c).
_WORD, _TILE, _TAPS, _CHANNELS = 8, 4, 4, 8


def take(dispatch: Dispatch) -> Call | None:
    if dispatch.a.dtype != "i8" or dispatch.padding:
        return None
    found = windows(dispatch)
    if found is None:
        return None
    return _depthwise(found) if found.is_depthwise else _dot(found)


def _dot(found: Windows) -> Call | None:
    dispatch, (y, x), output, runs = found.dispatch, found.rows, found.output, found.runs
    if len(runs) > 3 or runs[-1].image != 1 or output.result != 1 or output.sums != 1:
        return None
    lines, columns, run = [Axis()] * (3 - len(runs)) + list(runs)
    words = -(-found.size // _WORD)

    def pack(weights: Array) -> Array:
        padded = np.zeros((_up(output.extent, _TILE), words * _WORD), np.int8)
        padded[: output.extent, : found.size] = found.matrix(weights)
        tiles = padded.reshape(-1, _TILE, words, _WORD)
        return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).reshape(-1)

    steps = (y.image, x.image, lines.image, columns.image, run.extent, dispatch.a.offset)
    params = {
        "lines": y.extent,
        "columns": x.extent,
        "outputs": output.extent,
        "image_y": y.image,
        "image_x": x.image,
        "tap_lines": lines.extent,
        "tap_columns": columns.extent,
        "run": run.extent,
        "image_tap_y": lines.image,
        "image_tap_x": columns.image,
        "is_aligned": int(all(step % _WORD == 0 for step in steps)),
    }
    stored = (output.extent, y.result, x.result, dispatch.result.offset)
    params["stores_words"] = int(all(step % _TILE == 0 for step in stored))
    arguments = (dispatch.a, Packed(dispatch.b, pack), Scratch(words * _WORD * _TILE))
    return _call("packed_dot", found, arguments, params, 2)


def _depthwise(found: Windows) -> Call | None:
    dispatch, (y, x), channels, taps = found.dispatch, found.rows, found.output, found.runs
    steps = [axis.image for axis in taps]
    places = [y.image, x.image, channels.extent, dispatch.a.offset, *steps]
    places += [y.result, x.result, dispatch.result.offset]
    if channels.image != 1 or channels.result != 1 or channels.sums != 1:
        return None
    if any(place % _WORD for place in places):
        return None
    indices = np.indices([axis.extent for axis in taps]).reshape(len(steps), found.size)
    offsets = np.zeros(_up(found.size, _TAPS), np.int32)
    offsets[: found.size] = sum(index * step for index, step in zip(indices, steps, strict=True))

    def pack(weights: Array) -> Array:
        padded = np.zeros((channels.extent, len(offsets)), np.int8)
        padded[:, : found.size] = found.matrix(weights)
        groups = padded.reshape(-1, _CHANNELS, len(offsets) // _TAPS, _TAPS)
        return np.ascontiguousarray(groups.transpose(0, 2, 1, 3)).reshape(-1)

    params = {
        "lines": y.extent,
        "columns": x.extent,
        "groups": channels.extent // _CHANNELS,
        "taps": len(offsets),
        "image_y": y.image,
        "image_x": x.image,
    }
    arguments = (dispatch.a, Packed(dispatch.b, pack), offsets)
    return _call("packed_depthwise", found, arguments, params, 1)


def _call(
    function: str,
    found: Windows,
    arguments: tuple[Operand | Packed | Scratch | Array, ...],
    params: dict[str, int],
    copies: int,
) -> Call:
    """Returns the call with a requantization if the epilogue is one, else with sums.

    Args:
      function: that writes sums; the other one has `_i8` behind its name.
      found: what is computed.
      arguments, params: of both functions.
      copies: of each output's multiplier.
    """
    dispatch, (y, x), count = found.dispatch, found.rows, found.output.extent
    how = requantization_by_output(dispatch, found.output_loop)
    if how is None:
        steps = {"result_y": y.sums, "result_x": x.sums}
        return Call(function, (*arguments, Sums()), params | steps)
    arrays = (
        per_output(how.bias, count, multiple=_TILE),
        per_output(how.scale.multiplier, count, multiple=_TILE, copies=copies),
        per_output(how.scale.shift, count, multiple=_TILE, factor=-1),
    )
    numbers = {
        "result_y": y.result,
        "result_x": x.result,
        "down_if_negative": int(how.scale.is_down),
        "zero": how.zero,
        "low": how.low,
        "high": how.high,
    }
    return Call(
        function + "_i8", (*arguments, *arrays, dispatch.result), params | numbers, finishes=True
    )


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
