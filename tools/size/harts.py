"""What several harts did side by side: their shares of the commands between barriers, and the longest of these."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from tools.emulate import result


def summary(records: Sequence[result.Record]) -> dict[str, Any] | None:
    """Returns what the harts of a profile run did, None for a run on one hart; may raise RecordError.

    A stretch is what lies between two barriers. Its longest share and the barrier behind it are on the critical path.
    """
    found = [record for record in records if record.kind in ("DISPATCH", "BARRIER")]
    if not any("harts" in record.fields for record in found):
        return None
    stretches = []
    for is_barrier, group in groupby(found, lambda record: record.kind == "BARRIER"):
        if is_barrier:
            # The first barrier of a run has nothing before it.
            spent = sum(record.number("instret") for record in group)
            stretches = stretches or [_stretch([], 0)]
            stretches[-1]["barrier"] += spent
        else:
            stretches.append(_stretch(list(group), 0))
    numbers = {len(record.numbers("harts")) for record in found if record.kind == "DISPATCH"}
    if len(numbers) != 1 or found[-1].kind != "BARRIER":
        raise result.RecordError("the DISPATCH and BARRIER records do not belong together")
    (count,) = numbers
    for stretch in stretches:
        stretch["work"] = stretch["work"] or [0] * count
    return {
        "barriers": sum(stretch["barrier"] for stretch in stretches),
        "count": count,
        "critical": sum(max(stretch["work"]) + stretch["barrier"] for stretch in stretches),
        "stretches": stretches,
        "work": [sum(stretch["work"][hart] for stretch in stretches) for hart in range(count)],
    }


def _stretch(records: list[result.Record], barrier: int) -> dict[str, Any]:
    shares = [record.numbers("harts") for record in records]
    return {
        "barrier": barrier,
        "commands": [record.number("index") for record in records],
        "work": [sum(parts) for parts in zip(*shares, strict=True)],
    }


def efficiency(harts: dict[str, Any]) -> float:
    """Returns which part of the harts' time on the critical path is work."""
    return float(sum(harts["work"]) / max(harts["count"] * harts["critical"], 1))
