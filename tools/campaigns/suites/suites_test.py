"""A sample of a suite, drawn by seed, or all of it in shards, and what a wrong expected output does."""

from __future__ import annotations

import importlib
import os
import random
import unittest
from dataclasses import replace
from pathlib import Path

import harness
import lists
from case import Case, Outcome

from bmc import arithmetic
from bmc.artifacts import ImportedModel

# Suite -> how many cases of it fit into the test's time.
_SAMPLE = {"jax": 10, "keras": 6, "onnx": 24, "tflite": 6, "torch": 6}
_SEED = 1


def _made_wrong(case: Case) -> Case:
    """Returns the case with an element of its expected output changed."""

    def load(out: Path) -> ImportedModel:
        model = case.load(out)
        first, *others = model.golden.outputs[0]
        changed = first.copy()
        changed.flat[0] = 1 - changed.flat[0] if changed.dtype == bool else changed.flat[0] + 3
        golden = replace(model.golden, outputs=((changed, *others), *model.golden.outputs[1:]))
        return replace(model, golden=golden, framework=None)

    return replace(case, name=f"{case.name} made wrong", load=load)


def _names(suite: str, listed: list[str], large: set[str]) -> list[str]:
    """Returns the sample, without the cases that take hours, or the shard's part of all."""
    if not (shards := os.environ.get("TEST_TOTAL_SHARDS")):
        short = [name for name in listed if name not in large]
        return random.Random(_SEED).sample(short, _SAMPLE[suite])
    Path(os.environ["TEST_SHARD_STATUS_FILE"]).touch()
    return listed[int(os.environ["TEST_SHARD_INDEX"]) :: int(shards)]


class SampleTest(unittest.TestCase):
    def test_a_sample_is_as_right_as_the_list_says(self) -> None:
        suite = os.environ["SUITE"]
        module = importlib.import_module(f"{suite}_suite")
        listed = lists.read(harness.list_of(suite))
        found = {case.name: case for case in module.cases()}
        large = {name for name, case in found.items() if case.large}
        names = _names(suite, sorted(listed), large)
        chosen = [found[name] for name in names]
        right = next(case for case in chosen if listed[case.name].verdict.outcome is Outcome.RIGHT)
        rows = {
            row.name: row
            for batch in harness.run([*chosen, _made_wrong(right)], module.enter, jobs=1)
            for row in batch
        }
        caught = rows.pop(f"{right.name} made wrong").verdict
        self.assertIn(caught.outcome, (Outcome.CAUGHT, Outcome.WRONG), caught)
        self.assertEqual(set(rows), set(names))
        for name, row in rows.items():
            before = listed[name].verdict.outcome
            if before is Outcome.RIGHT:
                self.assertIs(row.verdict.outcome, Outcome.RIGHT, row)
            elif before not in (Outcome.WRONG, Outcome.CRASH):
                self.assertNotIn(row.verdict.outcome, (Outcome.WRONG, Outcome.CRASH), row)


if __name__ == "__main__":
    # As for the lists: some answers of frameworks depend on the CPU otherwise.
    arithmetic.enter()
    unittest.main()
