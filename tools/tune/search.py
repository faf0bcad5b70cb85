"""Finds the fastest kernel of each dispatch.

What a dispatch takes does not depend on the others, so each run tries one variant of every dispatch at once.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from tools.tune.store import Store
from tools.tune.trial import Bench, Cost, Trial, of_group
from tools.tune.variants import DEFAULT, Group, groups

# Part of its instructions that a dispatch must save to be worth an entry.
_LEAST = 0.01
_PIXELS = {"layout": "pixels"}

Costs = dict[tuple[str, str], Cost]


@dataclass(frozen=True)
class Found:
    """The result of a search.

    Attributes:
      default: a run without tuning.json.
      best: a run with `entries`; the same one if there are none.
      groups: everything that was tuned.
      costs: what each variant took, by the group's key.
      entries: what tuning.json should have for the instruction set.
    """

    default: Trial
    best: Trial
    groups: list[Group]
    costs: Costs
    entries: dict[str, Any]


def search(
    bench: Bench, store: Callable[[str], Store], jobs: int, say: Callable[[str], None]
) -> Found:
    """Runs until every variant has been tried.

    Args:
      bench: where they are tried.
      store: returns where the costs for a layout are kept.
      jobs: how many runs at a time.
      say: receives lines about the progress.

    Raises:
      Exception: the model does not even run without tuning.json.
    """
    say("measuring the defaults")
    default = bench.run({}, proposes=True)
    base, start = _layout(bench, default, say)
    found = groups(start.report)
    kept = store(json.dumps(base))
    costs = {**kept.read(), **{(g.key, DEFAULT): of_group(g, start) for g in found}}
    runs = list(_runs(found, costs))
    say(
        f"{len(found)} kinds of dispatches, {sum(len(g.variants) - 1 for g in found)} kernels to try;"
        f" {len(costs) - len(found)} known, {len(runs)} runs left"
    )
    began = time.monotonic()
    for done, new in enumerate(_all(bench, runs, base, jobs), 1):
        kept.add(new)
        costs |= new
        saved = sum(_saved(group, costs) for group in found)
        left = (time.monotonic() - began) / done * (len(runs) - done)
        say(
            f"run {done} of {len(runs)}: {saved:,} of {start.total.instructions:,} instructions saved so far,"
            f" about {left / 60:.0f} min left"
        )
    entries = dict(base)
    for group in found:
        best = fastest(group, costs)
        if best != DEFAULT:
            entries[group.key] = {**json.loads(best), "instead_of": list(group.digests)}
    final = bench.run(entries) if entries else default
    return Found(default, final, found, costs, entries)


def fastest(group: Group, costs: Costs) -> str:
    """Returns the variant that beats all others, or the default if none saves enough."""
    default = best = costs[group.key, DEFAULT]
    chosen = DEFAULT
    for variant in group.variants:
        cost = costs.get((group.key, variant))
        if cost and cost.beats(best) and cost.beats(default):
            best, chosen = cost, variant
    is_worth_it = best.instructions <= (1 - _LEAST) * default.instructions
    return chosen if is_worth_it else DEFAULT


def _saved(group: Group, costs: Costs) -> int:
    best = costs[group.key, fastest(group, costs)]
    return costs[group.key, DEFAULT].instructions - best.instructions


def _layout(
    bench: Bench, default: Trial, say: Callable[[str], None]
) -> tuple[dict[str, Any], Trial]:
    """Returns what tuning.json should say about the layout of images, and a run with that."""
    if not default.report["planes"]:
        return {}, default
    pixels = bench.run(_PIXELS)
    if not pixels.total.beats(default.total):
        return {}, default
    say(f"images are cheaper channels-last: {pixels.total.instructions:,} instructions")
    return _PIXELS, bench.run(_PIXELS, proposes=True)


def _runs(found: list[Group], costs: Costs) -> Iterator[dict[Group, str]]:
    """Yields what to try together: of each group the first variant that is not known, then the second, and so on."""
    left = {
        group: [each for each in group.variants if (group.key, each) not in costs]
        for group in found
    }
    for number in range(max((len(variants) for variants in left.values()), default=0)):
        yield {
            group: variants[number] for group, variants in left.items() if number < len(variants)
        }


def _ignore_interrupts() -> None:
    """Leaves Ctrl-C to the process that waits for this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _all(
    bench: Bench, runs: list[dict[Group, str]], base: dict[str, Any], jobs: int
) -> Iterator[Costs]:
    """Yields what runs found, in the order in which they end."""
    # A forked process would inherit locks of IREE's threads, which it does not have.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, _ignore_interrupts) as pool:
        waiting: dict[Future[dict[Group, Cost]], dict[Group, str]] = {
            pool.submit(bench.costs, run, base): run for run in runs
        }
        try:
            for future in as_completed(waiting):
                run = waiting[future]
                yield {(group.key, run[group]): cost for group, cost in future.result().items()}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
