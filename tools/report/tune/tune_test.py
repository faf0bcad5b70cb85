"""Searches for kernels of a small model, and tests what decides about them."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from blank import blank

from bmc.kernels.schedule import gemm
from bmc.kernels.tree.assembly import Kernel
from bmc.report import Dispatch, Model, Proposal
from tools.report.tune import page, search, variants
from tools.report.tune.store import Store
from tools.report.tune.trial import Bench, Cost
from tools.report.tune.variants import DEFAULT, Group
from tools.run.kit import Kit

# What bm_trials recorded is beside its program.
_SESSION = Path(os.environ["TUNE"]).with_suffix(".json")


def dispatch(name: str, op: str, entries: list[dict[str, Any]], **more: Any) -> Dispatch:
    proposals = tuple(Proposal(entry, 100 + place) for place, entry in enumerate(entries))
    own = {"own_kernel": bool(entries), "replaceable": True, "digest": f"of {name}"}
    return blank(Dispatch, name=name, op=op, proposals=proposals, **{**own, **more})


def model(*dispatches: Dispatch) -> Model:
    return blank(Model, dispatches=dispatches)


def group(*entries: str) -> Group:
    return Group("op", ("f",), ("d",), (DEFAULT, *entries), {})


class VariantsTest(unittest.TestCase):
    def test_dispatches_alike_are_one_group(self) -> None:
        entries: list[dict[str, Any]] = [{}, {"rows": 2}]
        rows = [dispatch("f", "a", entries), dispatch("g", "a", entries)]
        (found,) = variants.groups(model(*rows))
        self.assertEqual((found.key, found.functions), ("a", ("f", "g")))
        self.assertEqual(found.digests, ("of f", "of g"))
        self.assertEqual(found.variants, (DEFAULT, '{"rows": 2}', '{"kernel": "iree"}'))
        self.assertEqual(found.costs, {DEFAULT: 200, '{"rows": 2}': 202})

    def test_others_with_the_same_op_are_tuned_one_by_one(self) -> None:
        rows = [dispatch("f", "a", [{}, {"rows": 2}]), dispatch("g", "a", [{}, {"rows": 3}])]
        keys = [found.key for found in variants.groups(model(*rows))]
        self.assertEqual(keys, ["f", "g"])

    def test_tile_sizes_of_other_kernels(self) -> None:
        tiles = {
            "distribution": (64, 0),
            "vector_common_parallel": (1, 8),
            "vector_reduction": (0,),
        }
        (found,) = variants.groups(model(dispatch("f", "a", [], tiles=tiles)))
        sizes = [json.loads(each).get("vector_common_parallel") for each in found.variants]
        self.assertEqual(sizes, [None, [2, 8], [1, 16], [1, 4]])
        untiled = dispatch("g", "b", [])
        self.assertEqual(variants.groups(model(untiled)), [])

    def test_kernels_that_others_rely_on_are_not_replaced(self) -> None:
        row = dispatch("f", "a", [{}, {"rows": 2}], replaceable=False)
        (found,) = variants.groups(model(row))
        self.assertEqual(found.variants, (DEFAULT, '{"rows": 2}'))


class DecisionTest(unittest.TestCase):
    def test_modeled_cycles_veto_and_decide_ties(self) -> None:
        default = Cost(100, 50)
        self.assertTrue(Cost(90, 50).beats(default))
        self.assertTrue(Cost(100, 49).beats(default))
        self.assertTrue(Cost(90, None).beats(default))
        for other in (Cost(90, 51), Cost(100, 50), Cost(101, 40), Cost(90, 40, "wrong")):
            self.assertFalse(other.beats(default), other)

    def test_little_is_not_worth_an_entry(self) -> None:
        def fastest(*instructions: int) -> str:
            entries = [str(number) for number in range(len(instructions))]
            costs = {("op", e): Cost(n, 5.0) for e, n in zip(entries, instructions, strict=True)}
            return search.fastest(group(*entries), {("op", DEFAULT): Cost(1000, 5.0), **costs})

        self.assertEqual(fastest(980, 900, 950), "1")
        self.assertEqual(fastest(995, 1000), DEFAULT)

    def test_what_may_be_left(self) -> None:
        """A variant that is estimated to be much slower is not tried, and one without an estimate may save all."""
        estimates = {DEFAULT: 100.0, "near": 102.0, "far": 120.0}
        large = Group("large", ("f",), ("d",), (*estimates, "iree"), estimates)
        small = dataclasses.replace(large, key="small")
        costs = {("large", DEFAULT): Cost(1000, 5.0), ("small", DEFAULT): Cost(10, 5.0)}
        self.assertAlmostEqual(search.possible(large, "near", costs), 1000 - 0.95 * 1020)
        self.assertEqual(search.possible(large, "far", costs), 0)
        self.assertEqual(search.left([large, small], costs), 1010)
        costs["large", "iree"] = costs["small", "iree"] = Cost(failed="no")
        self.assertAlmostEqual(search.left([large, small], costs), 31 + 0.31)
        costs["large", "near"] = Cost(500, 4.0)
        self.assertAlmostEqual(search.left([large, small], costs), 0.31)

    def test_a_line_that_was_cut_is_measured_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder) / "new" / "costs.jsonl")
            self.assertEqual(store.read(), {})
            costs = {("op", "a"): Cost(3, 1.5), ("op", "b"): Cost(failed="no")}
            store.add(costs)
            self.assertEqual(store.read(), costs)
            with store.path.open("a") as file:
                file.write('{"key": "op", "ent')
            self.assertEqual(store.read(), costs)
            store.add({("op", "c"): Cost(1)})
            self.assertEqual(len(store.read()), 3)


class SearchTest(unittest.TestCase):
    bench: Bench
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        session = json.loads(_SESSION.read_text())
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        kit = Kit.load(Path(session["kit"]), cls.folder / "kit")
        cls.bench = Bench.load(session, session["models"][0], kit)

    def searched(self, most: int) -> tuple[search.Found, list[str]]:
        """Searches among so many variants of each dispatch; returns what it says as well."""
        said: list[str] = []

        def few(report: Model) -> list[Group]:
            return [
                dataclasses.replace(each, variants=each.variants[:most])
                for each in variants.groups(report)
            ]

        with mock.patch.object(search, "groups", few):
            found = search.search(
                self.bench, lambda _: Store(self.folder / "costs.jsonl"), 1, said.append
            )
        return found, said

    def test_a_search_and_its_continuation(self) -> None:
        _, said = self.searched(2)
        self.assertIn("at most 1 runs", said[1])
        first, said = self.searched(2)
        self.assertEqual(len(said), 2)
        found, said = self.searched(3)
        self.assertIn("at most 1 runs", said[1])
        self.assertIn("run 1: ", said[-1])
        self.assertIn("at most 0 runs", said[-1])
        tried = {(each.key, variant) for each in found.groups for variant in each.variants}
        self.assertLess(set(first.costs), set(found.costs))
        self.assertLessEqual(set(found.costs), tried)
        self.assertLessEqual(found.best.total.instructions, found.default.total.instructions)
        self.assertTrue(all(cost.failed or cost.instructions for cost in found.costs.values()))
        self.assertIn("estimates", list(page.lines(found))[-1])

    def test_a_wrong_kernel_is_refused(self) -> None:
        """And only that one, of those that were tried with it."""
        default = self.bench.run({}, proposes=True)
        first, second, *_ = (g for g in variants.groups(default.report) if g.costs)
        write = gemm.write

        def wrong(product: Any, vlen: int, choice: Any) -> Kernel:
            kernel = write(product, vlen, choice)
            if choice.rows == 1:
                return dataclasses.replace(kernel, text=kernel.text.replace("vfmacc", "vfnmsac"))
            return kernel

        chosen = {first: '{"rows": 1}', second: '{"unroll": 1}'}
        with mock.patch.object(gemm, "write", wrong):
            costs = self.bench.costs(chosen, {})
        self.assertIn("FAIL", costs[first].failed)
        self.assertFalse(costs[first].beats(Cost(10**9)))
        self.assertEqual(costs[second].failed, "")
        self.assertGreater(costs[second].instructions, 0)
        right = self.bench.costs({first: '{"rows": 1}'}, {})
        self.assertEqual(right[first].failed, "")


if __name__ == "__main__":
    unittest.main()
