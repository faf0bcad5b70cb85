"""Products of windows of int8 as fields of a call's parameters, as libraries for vectors are told them."""

from __future__ import annotations

from bmc.libraries.call import Packed
from bmc.libraries.dispatch import Array, Operand
from bmc.libraries.requantization import (
    Addition,
    Number,
    Requantization,
    Term,
    is_per_output,
    per_output,
)
from bmc.libraries.windows import Windows


def window_params(found: Windows) -> dict[str, int]:
    """Returns the image and its windows as fields of a call's parameters. Its channels are one axis."""
    y, x, padding = found.y, found.x, found.dispatch.padding
    return {
        "lines": y.windows,
        "columns": x.windows,
        "outputs": found.output.extent,
        "image_line": y.step,
        "image_pixel": x.step,
        "image_channel": found.channels[0].image if found.channels else 0,
        "width": x.pixels,
        "height": y.pixels,
        "channels": found.channel_count,
        "low_x": x.low,
        "low_y": y.low,
        "filler": int(padding.value) if padding else 0,
        "tap_lines": y.taps,
        "tap_columns": x.taps,
        "dilation_x": x.dilation,
        "dilation_y": y.dilation,
        "stride_x": x.stride,
        "stride_y": y.stride,
    }


def output_numbers(found: Windows, how: Requantization | None) -> tuple[Packed | Array, ...] | None:
    """Returns bias, multiplier and shift of a requantization as arrays; None if they are not those of an output."""
    if how is None:
        return None
    numbers = (how.bias, how.scale.multiplier, how.scale.shift)
    if not all(is_per_output(found.dispatch, number, found.output_loop) for number in numbers):
        return None
    return tuple(per_output(number, found.output.extent) for number in numbers)


def limits(how: Requantization) -> dict[str, int]:
    """Returns what is the same for all outputs of a requantization, as fields of a call's parameters."""
    return {
        "up": how.scale.up,
        "down_if_negative": int(how.scale.is_down),
        "zero": how.zero,
        "low": how.low,
        "high": how.high,
    }


def result_steps(found: Windows) -> dict[str, int]:
    """Returns steps along y, x and outputs in the result as fields of a call's parameters."""
    return {
        "result_y": found.y.result,
        "result_x": found.x.result,
        "result_o": found.output.result,
    }


def sums_steps(found: Windows) -> dict[str, int]:
    """The same in Sums()."""
    return {"result_y": found.y.sums, "result_x": found.x.sums, "result_o": found.output.sums}


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
