"""Takes products of int8 whose bytes are summed in runs, and depthwise convolutions of channels behind pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bmc.libraries import (
    Call,
    Dispatch,
    Operand,
    Packed,
    Scratch,
    Sums,
    is_per_output,
    per_output,
    requantization,
)
from bmc.libraries.dispatch import Array

# Bytes of a word, outputs and windows of a tile, taps of a word, and channels of a group (dot.c, depthwise.c).
_WORD, _TILE, _TAPS, _CHANNELS = 8, 4, 4, 8


@dataclass(frozen=True)
class _Axis:
    """One loop, or several that visit the image and the result as one would; its steps in them and in Sums()."""

    extent: int = 1
    image: int = 0
    result: int = 0
    sums: int = 0


def take(dispatch: Dispatch) -> Call | None:
    if dispatch.a.dtype != "i8" or dispatch.padding:
        return None
    image, weight, result = dispatch.operands[:3]
    steps = list(
        zip(
            dispatch.loops,
            image.steps,
            weight.steps,
            result.steps,
            dispatch.sums_steps,
            strict=True,
        )
    )
    rows, outputs, channels, terms = [], [], [], []
    for number, (loop, in_image, in_weight, in_result, in_sums) in enumerate(steps):
        if loop.extent == 1:
            continue
        axis = _Axis(loop.extent, in_image, in_result, in_sums)
        if loop.is_summed:
            terms.append((number, axis))
        elif not in_weight:
            rows.append(axis)
        else:
            (channels if in_image else outputs).append((number, axis))
    rows = [_Axis()] * 2 + _merged(rows)
    if any(row != _Axis() for row in rows[:-2]) or len(outputs) + len(channels) > 1 or not terms:
        return None
    if channels:
        return _depthwise(dispatch, rows[-2:], channels[0], terms)
    return _dot(dispatch, rows[-2:], outputs, terms)


def _dot(
    dispatch: Dispatch,
    rows: list[_Axis],
    outputs: list[tuple[int, _Axis]],
    terms: list[tuple[int, _Axis]],
) -> Call | None:
    y, x = rows
    output = outputs[0][1] if outputs else _Axis(result=1, sums=1)
    window = [_Axis()] * 2 + _merged([axis for _, axis in terms])
    if len(window) > 5 or window[-1].image != 1 or output.result != 1 or output.sums != 1:
        return None
    lines, columns, run = window[-3:]
    if any(axis != _Axis() for axis in window[:-3]):
        return None
    size = math.prod(axis.extent for _, axis in terms)
    words = -(-size // _WORD)
    order = _order(dispatch, [number for number, _ in outputs + terms])

    def pack(weights: Array) -> Array:
        matrix = weights.transpose(order).reshape(output.extent, size)
        padded = np.zeros((_up(output.extent, _TILE), words * _WORD), np.int8)
        padded[: output.extent, :size] = matrix
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
    number = outputs[0][0] if outputs else -1
    return _call("packed_dot", dispatch, arguments, params, rows, number, output.extent, 2)


def _depthwise(
    dispatch: Dispatch,
    rows: list[_Axis],
    channel: tuple[int, _Axis],
    terms: list[tuple[int, _Axis]],
) -> Call | None:
    (number, channels), (y, x) = channel, rows
    steps = [axis.image for _, axis in terms]
    places = [y.image, x.image, channels.extent, dispatch.a.offset, *steps]
    places += [y.result, x.result, dispatch.result.offset]
    if channels.image != 1 or channels.result != 1 or channels.sums != 1:
        return None
    if any(place % _WORD for place in places):
        return None
    size = math.prod(axis.extent for _, axis in terms)
    order = _order(dispatch, [number, *(term for term, _ in terms)])
    indices = np.indices([axis.extent for _, axis in terms]).reshape(len(terms), size)
    offsets = np.zeros(_up(size, _TAPS), np.int32)
    offsets[:size] = sum(index * step for index, step in zip(indices, steps, strict=True))

    def pack(weights: Array) -> Array:
        matrix = weights.transpose(order).reshape(channels.extent, size)
        padded = np.zeros((channels.extent, len(offsets)), np.int8)
        padded[:, :size] = matrix
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
    return _call("packed_depthwise", dispatch, arguments, params, rows, number, channels.extent, 1)


def _call(
    function: str,
    dispatch: Dispatch,
    arguments: tuple[Operand | Packed | Scratch | Array, ...],
    params: dict[str, int],
    rows: list[_Axis],
    output: int,
    count: int,
    copies: int,
) -> Call:
    """Returns the call with a requantization if the epilogue is one, else with sums.

    Args:
      function: that writes sums; the other one has `_i8` behind its name.
      dispatch: what is computed.
      arguments, params: of both functions.
      rows: lines and columns of results.
      output: the loop over outputs, -1 if there is one output.
      count: of outputs.
      copies: of each output's multiplier.
    """
    y, x = rows
    found = requantization(dispatch)
    numbers = [found.bias, found.scale.multiplier, found.scale.shift] if found else []
    if (
        found is None
        or found.scale.up
        or not all(is_per_output(dispatch, each, output) for each in numbers)
    ):
        steps = {"result_y": y.sums, "result_x": x.sums}
        return Call(function, (*arguments, Sums()), params | steps)
    steps = {"result_y": y.result, "result_x": x.result}
    bias, multiplier, shift = numbers
    arrays = (
        per_output(bias, count, _TILE),
        per_output(multiplier, count, _TILE, copies=copies),
        per_output(shift, count, _TILE, factor=-1),
    )
    limits = {
        "down_if_negative": int(found.scale.is_down),
        "zero": found.zero,
        "low": found.low,
        "high": found.high,
    }
    return Call(
        function + "_i8",
        (*arguments, *arrays, dispatch.result),
        params | steps | limits,
        finishes=True,
    )


def _order(dispatch: Dispatch, loops: list[int]) -> list[int]:
    """Returns the weight's axes, which are in the order of the loops, in another order of them."""
    moving = [
        number
        for number, (loop, step) in enumerate(zip(dispatch.loops, dispatch.b.steps, strict=True))
        if step
    ]
    return [moving.index(number) for number in loops] + [
        axis for axis, number in enumerate(moving) if number not in loops
    ]


def _merged(axes: list[_Axis]) -> list[_Axis]:
    """Makes one axis of neighbors that visit image and result as one would."""
    found: list[_Axis] = []
    for axis in axes:
        last = found[-1] if found else None
        if last and (last.image, last.result, last.sums) == tuple(
            axis.extent * step for step in (axis.image, axis.result, axis.sums)
        ):
            found[-1] = _Axis(last.extent * axis.extent, axis.image, axis.result, axis.sums)
        else:
            found.append(axis)
    return found


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
