"""What a search tries: other kernels for each dispatch, as entries of tuning.json."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bmc.report import Dispatch, Model, Tiles

DEFAULT = "{}"
_IREE = {"kernel": "iree"}
# Tiling levels whose sizes are doubled and halved.
_LEVELS = ("vector_common_parallel", "vector_reduction", "vector_inner_parallel")


@dataclass(frozen=True)
class Group:
    """Dispatches that get the same kernel.

    Attributes:
      key: their name in tuning.json: their op, or the one function.
      functions: dispatch functions.
      digests: of the kernels that they have by default.
      variants: entries of tuning.json as JSON, the default first.
      costs: about how many instructions a launch takes, where the compiler has an estimate.
    """

    key: str
    functions: tuple[str, ...]
    digests: tuple[str, ...]
    variants: tuple[str, ...]
    costs: dict[str, float] = field(hash=False)


def groups(report: Model) -> list[Group]:
    """Returns the groups of a model that have other kernels, given a report with proposals."""
    by_op: dict[str, list[Dispatch]] = defaultdict(list)
    for dispatch in report.dispatches:
        by_op[dispatch.op].append(dispatch)
    found = []
    for op, dispatches in by_op.items():
        alike = len({json.dumps(_variants(dispatch)) for dispatch in dispatches}) == 1
        parts = [dispatches] if alike else [[dispatch] for dispatch in dispatches]
        for part in parts:
            variants = _variants(part[0])
            if len(variants) > 1:
                found.append(
                    Group(
                        key=op if alike else part[0].name,
                        functions=tuple(dispatch.name for dispatch in part),
                        digests=tuple(sorted({dispatch.digest for dispatch in part})),
                        variants=tuple(variants),
                        costs=_costs(part),
                    )
                )
    return found


def _variants(dispatch: Dispatch) -> list[str]:
    proposals = [proposal.entry for proposal in dispatch.proposals or ()]
    entries: list[dict[str, Any]]
    if not dispatch.own_kernel:
        entries = [{}, *_near(dispatch.tiles)]
    elif dispatch.replaceable:
        entries = [*proposals, _IREE]
    else:
        entries = proposals
    return [json.dumps(entry) for entry in entries]


def _costs(part: list[Dispatch]) -> dict[str, float]:
    """The estimates, added up over dispatches."""
    costs: dict[str, float] = defaultdict(float)
    for dispatch in part:
        for proposal in dispatch.proposals or ():
            costs[json.dumps(proposal.entry)] += proposal.cost
    return dict(costs)


def _near(tiles: Tiles) -> Iterator[dict[str, list[int]]]:
    """Yields tile sizes of which one is twice or half as large."""
    for level in _LEVELS:
        sizes = tiles.get(level, ())
        for place, size in enumerate(sizes):
            for other in (size * 2, size // 2):
                if other:
                    yield {level: [*sizes[:place], other, *sizes[place + 1 :]]}
