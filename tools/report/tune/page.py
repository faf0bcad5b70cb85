"""What a search prints about its result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.report.tune.search import Costs, Found, fastest
from tools.report.tune.trial import Cost
from tools.report.tune.variants import DEFAULT, Group


def lines(found: Found) -> Iterator[str]:
    """Yields what was found, what failed, and how far estimates were off."""
    before, after = found.default.total, found.best.total
    yield f"without tuning.json {_cost(before)}, with it {_cost(after)}"
    for group in found.groups:
        best = fastest(group, found.costs)
        if best != DEFAULT:
            default, cost = (found.costs[group.key, each] for each in (DEFAULT, best))
            yield f"  {group.key}: {best}: {_cost(default)} -> {_cost(cost)}{_estimate(group, best)}"
    for (key, entry), cost in found.costs.items():
        if cost.failed:
            yield f"  {key}: {entry} is no kernel: {cost.failed}"
    yield from _estimates(found.groups, found.costs)


def _cost(cost: Cost) -> str:
    cycles = "" if cost.cycles is None else f" ({cost.cycles:,.0f} cycles)"
    return f"{cost.instructions:,} instructions{cycles}"


def _estimate(group: Group, variant: str) -> str:
    """Returns what the compiler expected of a variant that turned out to be the fastest."""
    if variant not in group.costs:
        return ""
    ratio = group.costs[variant] / group.costs[DEFAULT]
    return f"; the estimate was {100 * (ratio - 1):+.0f} %"


def _estimates(groups: list[Group], costs: Costs) -> Iterator[str]:
    """Yields how far the estimates were off."""
    off, right, total = [], 0, 0
    for group in groups:
        default = costs[group.key, DEFAULT].instructions
        known: dict[str, Any] = {
            each: costs[group.key, each]
            for each in group.costs
            if (group.key, each) in costs and not costs[group.key, each].failed
        }
        if len(known) < 2 or not default:
            continue
        for each, cost in known.items():
            expected = group.costs[each] / group.costs[DEFAULT]
            off.append(abs(expected - cost.instructions / default))
        total += 1
        right += fastest(group, costs) not in list(known)[1:]
    if off:
        yield (
            f"estimates of kernels against the default were off by {100 * sum(off) / len(off):.0f} % on average;"
            f" the default was best in {right} of {total} kinds"
        )
