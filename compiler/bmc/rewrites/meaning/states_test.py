"""Tests that mutable globals become arguments and results, updated in place if possible."""

from __future__ import annotations

import unittest
from pathlib import Path

import support

from bmc.plan.tables import CommandKind, Region
from bmc.rewrites.meaning import states
from bmc.rewrites.model_context import ModelContext

_MODELS = Path(__file__).parents[4] / "models/control"

_CACHE = """util.global private mutable @cache = dense<0.0> : tensor<8x16xf32>
func.func @main(%row: tensor<1x16xf32>, %at: tensor<1xi64>) -> tensor<16xf32> {
  %old = util.global.load @cache : tensor<8x16xf32>
  %first = stablehlo.constant dense<0> : tensor<i64>
  %last = stablehlo.constant dense<7> : tensor<i64>
  %inside = stablehlo.clamp %first, %at, %last : (tensor<i64>, tensor<1xi64>, tensor<i64>) -> tensor<1xi64>
  %new = "stablehlo.scatter"(%old, %inside, %row) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
      indices_are_sorted = false, unique_indices = false}
    : (tensor<8x16xf32>, tensor<1xi64>, tensor<1x16xf32>) -> tensor<8x16xf32>
  util.global.store %new, @cache : tensor<8x16xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%new init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
  return %sum : tensor<16xf32>
}
"""
_SCALAR = """util.global private mutable @count = 0 : i32
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %old = util.global.load @count : i32
  util.global.store %old, @count : i32
  return %x : tensor<4xf32>
}
"""
_IN_LOOP = """util.global private mutable @total = dense<0.0> : tensor<4xf32>
func.func @main(%x: tensor<4xf32>, %go: tensor<i1>) -> tensor<4xf32> {
  %go_now = tensor.extract %go[] : tensor<i1>
  scf.if %go_now {
    util.global.store %x, @total : tensor<4xf32>
  }
  return %x : tensor<4xf32>
}
"""


class StatesTest(support.FolderTest):
    def test_a_cache_is_updated_where_it_lies(self) -> None:
        plan = support.lower_text(_CACHE, self.folder).plan
        self.assertEqual((plan.state_bytes, plan.reset_count), (512, 1))
        reset, *commands = plan.commands
        self.assertEqual(reset.kind, CommandKind.FILL)
        self.assertEqual(reset.bindings[0].region, Region.STATE)
        self.assertEqual({command.kind for command in commands}, {CommandKind.DISPATCH})
        # Zeros take no flash, and the cache is not in the arena.
        self.assertEqual(plan.weights_bytes, 0)
        self.assertLess(plan.arena_bytes, 512)

    def test_what_is_read_after_it_was_changed_is_copied(self) -> None:
        plan = support.lower_text(
            (_MODELS / "counter.mlir").read_text(encoding="utf-8"), self.folder
        ).plan
        (entry,) = plan.entries
        own = plan.commands[entry.first_command : entry.first_command + entry.command_count]
        last = own[-1]
        self.assertEqual(last.kind, CommandKind.COPY)
        self.assertEqual(last.bindings[1].region, Region.STATE)
        # The old value, which the model returns, is copied out before the new one is stored.
        first = [c.bindings[0].region for c in own if c.kind is CommandKind.COPY]
        self.assertEqual(first[0], Region.STATE)

    def test_a_new_state_is_stored_behind_the_outputs(self) -> None:
        text = _SCALAR.replace("= 0 : i32", "= dense<0> : tensor<2xi32>").replace(
            "@count : i32", "@count : tensor<2xi32>"
        )
        lines = support.rewritten(text, states.apply, context=ModelContext(int8=False))
        (main,) = (line for line in lines.splitlines() if "@main" in line)
        self.assertIn(
            "(%arg0: tensor<4xf32>, %arg1: tensor<2xi32>, %arg2: tensor<2xi32> {iree.abi.output = 1 : index})",
            main,
        )

    def test_numbers_are_no_state(self) -> None:
        self.refuses(
            "unsupported-state", "'count'", call=lambda: support.lower_text(_SCALAR, self.folder)
        )

    def test_state_inside_a_branch_is_refused(self) -> None:
        self.refuses(
            "unsupported-state",
            "'total'",
            "entry point itself",
            call=lambda: support.lower_text(_IN_LOOP, self.folder),
        )

    def test_a_model_without_state_is_left_as_it_is(self) -> None:
        context = ModelContext(int8=False)
        text = support.ADD.replace("stablehlo.add", "arith.addf")
        self.assertEqual(
            support.rewritten(text, states.apply, context=context).count("func.func"), 1
        )
        self.assertEqual(context.states.infos, ())


if __name__ == "__main__":
    unittest.main()
