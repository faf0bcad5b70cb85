"""Finds the fastest kernel of each dispatch.

What a dispatch takes does not depend on the others, so each run tries one variant of every dispatch at once: of each
the one that may save most, as far as the compiler's estimates say. It ends when all that is left may save little.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Set
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from tools.report.tune.store import Store
from tools.report.tune.trial import Bench, Cost, Trial, of_group
from tools.report.tune.variants import DEFAULT, Group, groups

# Part of its instructions that a dispatch must save to be worth an entry.
_LEAST = 0.01
# Part of all instructions for which no further run is worth its time.
_ENOUGH = 0.01
# Estimates may be off by so much, relative to each other.
_OFF = 0.05
_HWC = {"layout": "hwc"}

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
    """Runs until the variants that are left may save little.

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
    total = start.total.instructions
    say(
        f"{len(found)} kinds of dispatches, {sum(len(g.variants) - 1 for g in found)} kernels to try;"
        f" {len(costs) - len(found)} known, {_progress(found, costs, total)}"
    )
    began = time.monotonic()
    for done, new in enumerate(_all(bench, found, costs, total, base, jobs), 1):
        kept.add(new)
        costs |= new
        saved = sum(_saved(group, costs) for group in found)
        minutes = (time.monotonic() - began) / done * _most_runs(found, costs) / 60
        say(
            f"run {done}: {saved:,} of {total:,} instructions saved so far;"
            f" {_progress(found, costs, total)}, about {minutes:.0f} min"
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
    if not default.report.planes:
        return {}, default
    pixels = bench.run(_HWC)
    if not pixels.total.beats(default.total):
        return {}, default
    say(f"images are cheaper channels-last: {pixels.total.instructions:,} instructions")
    return _HWC, bench.run(_HWC, proposes=True)


def possible(group: Group, variant: str, costs: Costs) -> float:
    """Returns how many instructions a variant may save beyond the fastest one that is known.

    Without an estimate, that is all of them.
    """
    best = costs[group.key, fastest(group, costs)].instructions
    if variant not in group.costs:
        return best
    ratio = (1 - _OFF) * group.costs[variant] / group.costs[DEFAULT]
    return max(0.0, best - ratio * costs[group.key, DEFAULT].instructions)


def _left(group: Group, costs: Costs) -> list[tuple[float, str]]:
    """Returns the variants that are not known and may save something, with what they may, the most first."""
    unknown = [each for each in group.variants if (group.key, each) not in costs]
    found = ((possible(group, each, costs), each) for each in unknown)
    return sorted((each for each in found if each[0] > 0), key=lambda each: -each[0])


def left(found: list[Group], costs: Costs) -> float:
    """Returns how many instructions all variants that are not known may save, together."""
    return sum(max((most for most, _ in _left(group, costs)), default=0) for group in found)


def _most_runs(found: list[Group], costs: Costs) -> int:
    return max((len(_left(group, costs)) for group in found), default=0)


def _progress(found: list[Group], costs: Costs, total: int) -> str:
    share = 100 * left(found, costs) / total
    return f"{share:.1f} % may be left, at most {_most_runs(found, costs)} runs"


def _run(found: list[Group], costs: Costs, tried: Set[tuple[str, str]]) -> dict[Group, str]:
    """Returns what to try together: of each group the variant that may save most, and that is not tried already."""
    run = {}
    for group in found:
        variants = [each for _, each in _left(group, costs) if (group.key, each) not in tried]
        if variants:
            run[group] = variants[0]
    return run


def _ignore_interrupts() -> None:
    """Leaves Ctrl-C to the process that waits for this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _all(
    bench: Bench, found: list[Group], costs: Costs, total: int, base: dict[str, Any], jobs: int
) -> Iterator[Costs]:
    """Yields what runs found, in the order in which they end; the caller adds that to the costs."""
    # A forked process would inherit locks of IREE's threads, which it does not have.
    spawn = multiprocessing.get_context("spawn")
    waiting: dict[Future[dict[Group, Cost]], dict[Group, str]] = {}
    with ProcessPoolExecutor(jobs, spawn, _ignore_interrupts) as pool:
        try:
            while True:
                while len(waiting) < jobs and left(found, costs) >= _ENOUGH * total:
                    tried = {(g.key, each) for run in waiting.values() for g, each in run.items()}
                    run = _run(found, costs, tried)
                    if not run:
                        break
                    waiting[pool.submit(bench.costs, run, base)] = run
                if not waiting:
                    return
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    run = waiting.pop(future)
                    yield {(group.key, run[group]): cost for group, cost in future.result().items()}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
