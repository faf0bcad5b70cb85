"""What several harts did side by side: their shares of the commands between barriers, and the longest of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from tools.report.report import Harts, Stretch
from tools.run import result


def summary(records: Sequence[result.Record]) -> Harts | None:
    """Returns what the harts of a profile run did, None for a run on one hart; may raise RecordError.

    A stretch is what lies between two barriers. Its longest share and the barrier behind it are on the critical path.
    """
    found = [record for record in records if record.kind in ("DISPATCH", "BARRIER")]
    if not any("harts" in record.fields for record in found):
        return None
    numbers = {len(record.numbers("harts")) for record in found if record.kind == "DISPATCH"}
    if len(numbers) != 1 or found[-1].kind != "BARRIER":
        raise result.RecordError("the DISPATCH and BARRIER records do not belong together")
    (count,) = numbers
    stretches: list[Stretch] = []
    for is_barrier, group in groupby(found, lambda record: record.kind == "BARRIER"):
        if is_barrier:
            spent = sum(record.number("instret") for record in group)
            # The first barrier of a run has nothing before it.
            before = stretches.pop() if stretches else Stretch(0, (), (0,) * count)
            stretches.append(replace(before, barrier=spent))
        else:
            stretches.append(_stretch(list(group)))
    return Harts(
        barriers=sum(stretch.barrier for stretch in stretches),
        count=count,
        critical=sum(max(stretch.work) + stretch.barrier for stretch in stretches),
        stretches=tuple(stretches),
        work=tuple(sum(stretch.work[hart] for stretch in stretches) for hart in range(count)),
    )


def _stretch(records: Sequence[result.Record]) -> Stretch:
    shares = [record.numbers("harts") for record in records]
    work = tuple(sum(parts) for parts in zip(*shares, strict=True))
    return Stretch(0, tuple(record.number("index") for record in records), work)


def efficiency(harts: Harts) -> float:
    """Returns which part of the harts' time on the critical path is work."""
    return sum(harts.work) / max(harts.count * harts.critical, 1)
