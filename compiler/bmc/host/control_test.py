"""Tests loops and branches: their drivers, and the errors."""

from __future__ import annotations

import unittest
from dataclasses import replace
from pathlib import Path

import support

from bmc import target
from bmc.compile import CompileOptions, lower
from bmc.host.program import Assign, Branch, Load
from bmc.plan.tables import Region

_MODELS = Path(__file__).parents[3] / "models/control"
# Five steps, known before anything runs, and then an endless loop.
_COUNTED = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %count = arith.constant 5 : index
  %r = scf.for %i = %zero to %count step %one iter_args(%v = %x) -> tensor<4xf32> {
    %next = stablehlo.tanh %v : tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
"""
_ENDLESS = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %r = stablehlo.while(%v = %x) : tensor<4xf32>
    cond {
      stablehlo.return %yes : tensor<i1>
    } do {
      %next = stablehlo.tanh %v : tensor<4xf32>
      stablehlo.return %next : tensor<4xf32>
    }
  return %r : tensor<4xf32>
}
"""


class ControlTest(support.FolderTest):
    def lower(self, name: str) -> support.Compiled:
        return support.lower_text((_MODELS / name).read_text(encoding="utf-8"), self.folder)

    def test_a_straight_line_has_no_driver(self) -> None:
        (entry,) = support.lower_text(support.ADD, self.folder).plan.entries
        self.assertEqual((entry.driver, entry.loads), ((), {}))

    def test_a_loop_reads_its_condition_back(self) -> None:
        plan = self.lower("while_loop.mlir").plan
        (entry,) = plan.entries
        self.assertEqual(len([s for s in entry.driver if isinstance(s, Load)]), 2)
        self.assertTrue(any(isinstance(s, Branch) for s in entry.driver))
        for place in entry.loads.values():
            self.assertEqual((place.region, place.length), (Region.ARENA, 1))

    def test_a_loop_that_counts(self) -> None:
        (entry,) = support.lower_text(_COUNTED, self.folder).plan.entries
        # Nothing is read back, because the count is a variable of the driver.
        self.assertEqual([s for s in entry.driver if isinstance(s, Load)], [])
        self.assertEqual(len([s for s in entry.driver if isinstance(s, Branch)]), 1)

    def test_a_loop_that_never_ends(self) -> None:
        self.refuses(
            "host-program",
            "never ends",
            call=lambda: support.lower_text(_ENDLESS, self.folder),
        )

    def test_an_error_names_one_of_several_entry_points(self) -> None:
        other = support.ADD.replace("@main", "@other").replace("16xf32", "4xf32")
        model = support.import_text(other + _ENDLESS, self.folder)
        (main,) = model.signatures
        model = replace(model, signatures=(replace(main, name="other"), main))
        options = CompileOptions("m", target.find(support.ISA), self.folder / "out")
        error = self.refuses(
            "host-program", "never ends", call=lambda: lower(model, options, self.folder)
        )
        self.assertEqual(error.where, "main")

    def test_both_sides_of_a_branch_are_there(self) -> None:
        plan = self.lower("branch.mlir").plan
        (branch,) = (s for s in plan.entries[0].driver if isinstance(s, Branch))
        self.assertTrue(branch.then and branch.otherwise)
        self.assertNotEqual(branch.then, branch.otherwise)

    def test_branches_that_are_alike_become_one_block(self) -> None:
        (entry,) = self.lower("branches.mlir").plan.entries
        # It chooses among four commands by three variables, of which each path sets at most one.
        (chain,) = (found for s in entry.driver if len(found := _chain(s)) == 3)
        chosen = {branch.condition for branch in chain}
        paths = [
            part for s in entry.driver if isinstance(s, Branch) for part in (s.then, s.otherwise)
        ]
        sets = [s for path in (*paths, entry.driver) for s in path if isinstance(s, Assign)]
        sets = [s for s in sets if chosen == set(s.targets)]
        self.assertEqual(
            sorted(sum(source == 1 for source in s.sources) for s in sets), [0, 1, 1, 1]
        )


def _chain(statement: object) -> list[Branch]:
    """Returns a branch, and those that alone are the other sides of the ones before."""
    found: list[Branch] = []
    while isinstance(statement, Branch):
        found.append(statement)
        statement = statement.otherwise[0]
    return found


if __name__ == "__main__":
    unittest.main()
