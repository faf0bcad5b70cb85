"""Tests control flow and state: the drivers for loops, branches and mutable globals, and the errors."""

from __future__ import annotations

import dataclasses
import unittest
from pathlib import Path

import support

from bmc import target
from bmc.emit import driver_c
from bmc.errors import InternalError
from bmc.host.program import (
    Branch,
    Copy,
    Integer,
    Load,
    Run,
    Span,
    Storage,
    StorageKind,
    Variable,
)
from bmc.plan import schedule, tables
from bmc.plan.tables import Access, BindingPatch, CommandKind, Region
from bmc.rewrites import states
from bmc.rewrites.context import Context

_MODELS = Path(__file__).parents[3] / "models/control"
_CACHE = """util.global private mutable @cache = dense<0.0> : tensor<8x16xf32>
func.func @main(%row: tensor<1x16xf32>, %at: tensor<1xi64>) -> tensor<16xf32> {
  %old = util.global.load @cache : tensor<8x16xf32>
  %new = "stablehlo.scatter"(%old, %at, %row) ({
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

    def test_both_sides_of_a_branch_are_there(self) -> None:
        plan = self.lower("branch.mlir").plan
        (branch,) = (s for s in plan.entries[0].driver if isinstance(s, Branch))
        self.assertTrue(branch.then and branch.otherwise)
        self.assertNotEqual(branch.then, branch.otherwise)

    def test_a_place_known_at_run_time_is_patched_and_checked(self) -> None:
        plan = self.lower("update_slice.mlir").plan
        patched = [patch for command in plan.commands for patch in command.patches]
        self.assertTrue(patched)
        text = driver_c.source(plan, 0)
        for patch in patched:
            wanted = "bm_driver_bind(" if isinstance(patch, BindingPatch) else "k_constants["
            self.assertIn(wanted, text)


class PatchTest(unittest.TestCase):
    """Tests what a driver does before commands whose places only the target knows."""

    def driver(self, command: tables.Command) -> str:
        entry = tables.Entry("main", 0, 1, (), (), driver=(Run(0, 1),), variable_bits=(64,))
        model = tables.Plan("m", 0, 0, 256, 0, (), (command,), (entry,))
        return driver_c.source(model, 0)

    def test_a_fill_keeps_the_alignment_of_its_pattern(self) -> None:
        patch = BindingPatch(0, variable=0, start=64, size=32)
        binding = tables.Binding(Region.ARENA, 64, 4, Access.WRITE)
        command = tables.Command(CommandKind.FILL, True, 0, (0, 0, 0), (7, 2), (binding,), (patch,))
        self.assertIn("bm_driver_bind(&k_bindings[0], 64u, 32u, v0, 2)", self.driver(command))

    def test_both_ends_of_a_copy_move_together(self) -> None:
        source, target = (
            tables.Binding(Region.ARENA, offset, 4, access)
            for offset, access in ((8, Access.READ), (64, Access.WRITE))
        )
        to = BindingPatch(1, variable=0, start=64, size=32)
        command = tables.Command(CommandKind.COPY, True, 0, (0, 0, 0), (), (source, target), (to,))
        self.assertIn(
            "bm_driver_bind_copy(&k_bindings[0], 8u, 4u, 0u, 64u, 32u, v0)", self.driver(command)
        )

    def test_until_it_is_known_a_place_overlaps_nothing(self) -> None:
        storage = Storage(StorageKind.STATE, 0, 64)
        places = schedule._Places(None, [0], (), ())  # type: ignore[arg-type]
        kinds = schedule._Kinds({}, {})

        def offsets(source: Integer, target: Integer) -> list[int]:
            copy = Copy(Span(storage, source, 16), Span(storage, target, 16), True)
            return [binding.offset for binding in schedule._command(copy, kinds, places).bindings]

        v = Variable(0, 64)
        self.assertEqual(offsets(0, v), [0, 16])
        self.assertEqual(offsets(8, v), [8, 24])
        self.assertEqual(offsets(16, v), [16, 0])
        self.assertEqual(offsets(v, 8), [24, 8])
        self.assertEqual(offsets(v, v), [0, 16])
        # A known place is unchanged, so the check can judge it.
        self.assertEqual(offsets(0, 8), [0, 8])

    def test_a_true_overlap_is_refused(self) -> None:
        bindings = tuple(
            tables.Binding(Region.STATE, offset, 16, access)
            for offset, access in ((0, Access.READ), (15, Access.WRITE))
        )
        command = tables.Command(CommandKind.COPY, True, 0, (0, 0, 0), (), bindings)
        model = tables.Plan("m", 0, 0, 0, 0, (), (command,), (), state_bytes=64)
        with self.assertRaisesRegex(InternalError, "command 0 copies within what it reads"):
            schedule.verify(model)


class OverlapTest(support.FolderTest):
    def test_a_tensor_that_moves_within_itself_goes_by_way_of_another(self) -> None:
        text = (_MODELS / "shift.mlir").read_text(encoding="utf-8")
        plan = support.lower_text(text, self.folder).plan
        away, back = plan.commands[:2]
        self.assertEqual((away.kind, back.kind), (CommandKind.COPY, CommandKind.COPY))
        between = dataclasses.replace(away.bindings[1], access=Access.READ)
        self.assertEqual(between, back.bindings[0])
        # It moves down by a row of 32 bytes.
        moved = back.bindings[1].offset - away.bindings[0].offset
        self.assertEqual((moved, away.bindings[0].length), (32, 160))


class StateTest(support.FolderTest):
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
        context = Context(target.find(support.ISA))
        text = support.ADD.replace("stablehlo.add", "arith.addf")
        self.assertEqual(
            support.rewritten(text, states.apply, context=context).count("func.func"), 1
        )
        self.assertEqual(context.states.infos, ())


class ExpressionTest(unittest.TestCase):
    """Tests the C for operations of the VM dialect, which keeps values unsigned."""

    def test_signs_and_widths(self) -> None:
        v, w, n = Variable(0, 64), Variable(1, 64), Variable(2, 32)
        for operation, operands, text in (
            ("vm.add.i64", (v, -1), "v0 + UINT64_C(18446744073709551615)"),
            ("vm.sub.i32", (n, 3), "v2 - 3u"),
            ("vm.cmp.lt.i64.s", (v, w), "(int64_t)v0 < (int64_t)v1"),
            ("vm.cmp.lt.i64.u", (v, w), "v0 < v1"),
            ("vm.max.i64.s", (v, 0), "(int64_t)v0 > (int64_t)UINT64_C(0) ? v0 : UINT64_C(0)"),
            ("vm.min.i64.u", (v, 7), "v0 < UINT64_C(7) ? v0 : UINT64_C(7)"),
            ("vm.ext.i32.i64.s", (n,), "(uint64_t)(int64_t)(int32_t)v2"),
            ("vm.ext.i32.i64.u", (n,), "v2"),
            ("vm.ext.i8.i32.u", (n,), "(uint8_t)v2"),
            ("vm.ext.i16.i32.s", (n,), "(uint32_t)(int16_t)v2"),
            ("vm.trunc.i64.i32", (v,), "(uint32_t)v0"),
            ("vm.select.i64", (n, v, 5), "v2 != 0 ? v0 : UINT64_C(5)"),
            ("vm.shr.i64.s", (v, 3), "(uint64_t)((int64_t)v0 >> UINT64_C(3))"),
            ("vm.fma.i64", (v, w, 2), "v0 * v1 + UINT64_C(2)"),
        ):
            self.assertEqual(driver_c.expression(operation, operands), text)


if __name__ == "__main__":
    unittest.main()
