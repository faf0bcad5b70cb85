"""Tests that loops compile whose bodies have other arguments than their tests."""

from __future__ import annotations

import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import support

from bmc.rewrites.meaning import loop_conditions

# The report's model adds x to itself until its first element is 30 or more, if it is to begin at all.
_REPORT = Path("docs/upstream/iree-while-arguments.md")
_MODEL = _REPORT.read_text(encoding="utf-8").split("```mlir\n")[1].split("```")[0]
_SAME_ARGUMENTS = """func.func @main(%x: f32) -> f32 {
  %0 = scf.while (%v = %x) : (f32) -> f32 {
    %on = arith.cmpf olt, %v, %x : f32
    scf.condition(%on) %v : f32
  } do {
  ^bb0(%v: f32):
    scf.yield %v : f32
  }
  return %0 : f32
}
"""
_OUTER_VALUE = """func.func @main(%go: i1, %x: f32, %y: i32) -> (i32, f32) {
  %0:2 = scf.while (%on = %go, %v = %x) : (i1, f32) -> (i32, f32) {
    scf.condition(%on) %y, %v : i32, f32
  } do {
  ^bb0(%n: i32, %v: f32):
    %next = arith.trunci %n : i32 to i1
    %w = arith.addf %v, %x : f32
    scf.yield %next, %w : i1, f32
  }
  return %0#0, %0#1 : i32, f32
}
"""
_X = np.array([7, 1, 2, 3], np.float32)


class LoopsTest(support.FolderTest):
    def test_a_loop_that_carries_its_test(self) -> None:
        for go, times in ((True, 5), (False, 1)):
            (result,) = self.on_host(_MODEL, np.array(go), _X)
            np.testing.assert_array_equal(result, _X * times)

    def test_it_compiles_for_the_target(self) -> None:
        support.compile_text(_MODEL, self.folder)

    def test_iree_refuses_it(self) -> None:
        # If this fails, IREE has mended what the report says, and the rewrite can go.
        with mock.patch.object(loop_conditions, "apply"):
            self.refuses(
                "op-rejected",
                "target materialization",
                call=lambda: self.on_host(_MODEL, np.array(True), _X),
            )

    def test_a_value_from_outside_the_loop(self) -> None:
        text = support.rewritten(_OUTER_VALUE, loop_conditions.apply)
        lines = [line.strip() for line in text.splitlines()]
        self.assertIn("scf.yield %arg2, %arg1 : i32, f32", lines)
        (begin,) = (line for line in lines if "scf.while" in line)
        self.assertIn("= %arg2, ", begin)
        self.assertIn("(i32, f32) -> (i32, f32)", begin)

    def test_others_stay_as_they_are(self) -> None:
        before = support.rewritten(_SAME_ARGUMENTS)
        self.assertEqual(support.rewritten(_SAME_ARGUMENTS, loop_conditions.apply), before)


if __name__ == "__main__":
    unittest.main()
