"""Says of an int8 model why it gains little over f32, where it does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from bmc.report import Dispatch

# With more integers than that, nothing needs to be said.
_SHARE = 0.5
# A float between products takes about as many instructions as this many multiply-accumulates.
_WORK = 16
_FLOATS = ("f16", "f32", "f64")


def note(dispatches: Iterable[Dispatch], float_parts: Mapping[str, str]) -> str:
    """Returns a sentence about an int8 model of which floats are most; "" for others.

    Args:
      dispatches: rows of the report.
      float_parts: reasons for what is in floating point, by dispatch function or op signature.
    """
    rows = [row for row in dispatches if row.uses]
    floats = [row for row in rows if row.macs and row.accumulator in _FLOATS]
    total = sum(map(_macs, rows))
    integers = total - sum(map(_macs, floats))
    if floats and integers < _SHARE * total:
        most = max(floats, key=_macs)
        reasons = [float_parts[key] for key in (most.name, most.op) if key in float_parts]
        reason = f" ({reasons[0]})" if reasons else ""
        return (
            f"int8 gains little over f32 here: {100 * integers / total:.0f} % of the multiply-accumulates are of"
            f" integers, and {_macs(most):,} of {total:,} are in '{most.op}', which stays in"
            f" {most.accumulator}{reason}."
        )
    between = [row for row in rows if not row.macs and _elements(row)]
    elements = sum(row.uses * _elements(row) for row in between)
    if _WORK * elements > integers:
        return (
            f"int8 gains little over f32 here: besides {integers:,} multiply-accumulates of integers,"
            f" {elements:,} floats are computed between the products, in {len(between)} of {len(rows)} kernels."
        )
    return ""


def _macs(row: Dispatch) -> int:
    return row.macs * row.uses


def _elements(row: Dispatch) -> int:
    """Returns how many floats a kernel reads or writes of its largest tensor of them."""
    return max(
        (
            math.prod(operand.shape)
            for operand in row.operands
            if operand.dtype in _FLOATS and operand.shape is not None
        ),
        default=0,
    )
