"""Says of an int8 model why it gains little over f32, where it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# With more integers than that, nothing needs to be said.
_SHARE = 0.5
_FLOATS = ("f16", "f32", "f64")


def note(dispatches: Iterable[dict[str, Any]], float_parts: Mapping[str, str]) -> str:
    """Returns a sentence about an int8 model of which floats are most; "" for others.

    Args:
      dispatches: rows of the report.
      float_parts: reasons for what is in floating point, by dispatch function or op signature.
    """
    rows = [row for row in dispatches if row["uses"]]
    floats = [row for row in rows if row["macs"] and row["accumulator"] in _FLOATS]
    total = sum(map(_macs, rows))
    integers = total - sum(map(_macs, floats))
    if floats and integers < _SHARE * total:
        most = max(floats, key=_macs)
        reasons = [float_parts[key] for key in (most["name"], most["op"]) if key in float_parts]
        reason = f" ({reasons[0]})" if reasons else ""
        return (
            f"int8 gains little over f32 here: {100 * integers / total:.0f} % of the multiply-accumulates are of"
            f" integers, and {_macs(most):,} of {total:,} are in '{most['op']}', which stays in"
            f" {most['accumulator']}{reason}."
        )
    products = sum(row["uses"] for row in rows if row["macs"] and row not in floats)
    between = sum(row["uses"] for row in rows if not row["macs"] and _has_floats(row))
    if between > products:
        return (
            f"int8 gains little over f32 where its {products} integer products are not most of the work: {between} other"
            " kernels compute with floats between them."
        )
    return ""


def _macs(row: dict[str, Any]) -> int:
    return int(row["macs"] * row["uses"])


def _has_floats(row: dict[str, Any]) -> bool:
    return any(operand["dtype"] in _FLOATS for operand in row["operands"])
