"""Runs cases in processes that share images, and knows where the lists are."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import workers
from batch import Judge
from case import Case, Outcome, Verdict
from lists import Row

from tools.run.kit import Kit

_LISTS = Path("tools/campaigns/suites/lists")
_KITS = (
    Path("tools/campaigns/suites/vector.json"),
    Path("tools/campaigns/suites/scalar.json"),
)
_BATCH = 60
_DEADLINE_SECONDS = 1800.0
_LARGE_SECONDS = 6 * 3600.0


def list_of(suite: str) -> Path:
    """The committed list of a suite, in the runfiles."""
    return _LISTS / f"{suite}.txt"


def run(cases: Sequence[Case], enter: Callable[[], None], jobs: int) -> Iterator[list[Row]]:
    """Yields the cases with their verdicts, those of a batch at a time."""
    with tempfile.TemporaryDirectory() as root:
        kits = []
        for path in _KITS:
            folder = Path(root, path.stem)
            folder.mkdir()
            kits.append(Kit.load(path, folder))
        judge = Judge(tuple(kits))

        def work(batch: tuple[Case, ...]) -> list[Verdict]:
            enter()
            return judge.check(batch)

        alone: list[tuple[Case, ...]] = []
        small = [case for case in cases if not case.large]
        batches = [tuple(small[i : i + _BATCH]) for i in range(0, len(small), _BATCH)]
        large = [(case,) for case in cases if case.large]
        for done in workers.run(batches, work, jobs=jobs, deadline_seconds=_DEADLINE_SECONDS):
            if done.answer is None:
                alone += [(case,) for case in done.task]
            else:
                yield [
                    Row.of(case, verdict)
                    for case, verdict in zip(done.task, done.answer, strict=True)
                ]
        for left, seconds in ((alone, _DEADLINE_SECONDS), (large, _LARGE_SECONDS)):
            for done in workers.run(left, work, jobs=jobs, deadline_seconds=seconds):
                (case,) = done.task
                (verdict,) = done.answer or [Verdict(Outcome.CRASH, done.died)]
                yield [Row.of(case, verdict)]
