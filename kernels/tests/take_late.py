"""Takes every product of int8 whose results are int8, for late.c."""

from __future__ import annotations

from bmc.libraries import (
    Call,
    Dispatch,
    Packed,
    limits,
    output_numbers,
    requantization,
    result_steps,
    window_params,
    windows,
)


def take(dispatch: Dispatch) -> Call | None:
    found = windows(dispatch) if dispatch.a.dtype == "i8" else None
    how = requantization(dispatch)
    if found is None or how is None or len(found.channels) > 1:
        return None
    numbers = output_numbers(found, how)
    if numbers is None:
        return None
    params = window_params(found) | result_steps(found) | limits(how)
    params["image_output"] = found.output.image
    weights = Packed(dispatch.b, lambda weights: found.packed_taps(weights, 1))
    arguments = (dispatch.a, weights, *numbers, dispatch.result)
    return Call("late_i8", arguments, params, finishes=True, pads=True, wait="late_wait")
