"""Takes products of int8 for the matrix unit that are cheaper there."""

from __future__ import annotations

from bmc.libraries import (
    Call,
    Dispatch,
    Packed,
    Sums,
    Windows,
    limits,
    output_numbers,
    requantization,
    result_steps,
    sums_steps,
    window_params,
    windows,
)

# Bytes of the bus, and outputs and channels that are multiplied at once (README.md).
_START, _BUS_BYTES, _OUTPUTS, _CHANNELS = 64, 8, 16, 16
# Instructions of the hart, measured: to submit a product and see that it has ended, and of C behind the sums, for each
# operation and result.
_SUBMIT, _OPERATION = 200, 2.5


def take(dispatch: Dispatch) -> Call | None:
    found = windows(dispatch) if dispatch.a.dtype == "i8" else None
    if found is None or len(found.channels) > 1:
        return None
    how = requantization(dispatch)
    numbers = output_numbers(found, how)
    behind = 0 if numbers else sum(node.op != "constant" for node in dispatch.epilogue)
    results = found.y.windows * found.x.windows * found.output.extent
    cost = _SUBMIT + _cycles(found, 1 if numbers else 4) + _OPERATION * behind * results
    # A cycle of the unit is an instruction of the hart, which mostly waits: the next layer needs this one.
    if cost >= dispatch.cost:
        return None
    params = window_params(found) | {"image_output": found.output.image}
    arguments = (dispatch.a, Packed(dispatch.b, lambda weights: found.packed_taps(weights, 1)))
    wait = "matrix_unit_wait"
    if how is None or numbers is None:
        params |= sums_steps(found)
        return Call("matrix_unit_sums", (*arguments, Sums()), params, pads=True, wait=wait)
    params |= result_steps(found) | limits(how)
    every = (*arguments, *numbers, dispatch.result)
    return Call("matrix_unit_i8", every, params, finishes=True, pads=True, wait=wait)


def _cycles(found: Windows, result_bytes: int) -> int:
    """Returns what the unit takes. device.cc computes the same."""
    y, x, outputs = found.y, found.x, found.output.extent
    count = y.windows * x.windows
    image = y.pixels * x.pixels * found.channel_count * (outputs if found.is_depthwise else 1)
    moved = image + outputs * found.size + count * outputs * result_bytes
    runs = count * _up(outputs, _OUTPUTS) * y.taps * x.taps * _up(found.channel_count, _CHANNELS)
    return _START + _up(moved, _BUS_BYTES) + runs


def _up(count: int, step: int) -> int:
    return -(-count // step)
