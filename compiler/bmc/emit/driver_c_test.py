"""Tests the C of drivers: places known only at run time, and the operations of the VM dialect."""

from __future__ import annotations

import dataclasses
import unittest
from pathlib import Path

import support

from bmc.emit import driver_c
from bmc.host.program import Run, Variable
from bmc.plan import tables
from bmc.plan.tables import Access, BindingPatch, CommandKind, Region

_MODELS = Path(__file__).parents[3] / "models/control"


class PatchTest(support.FolderTest):
    """Tests what a driver does before commands whose places only the target knows."""

    def driver(self, *commands: tables.Command) -> str:
        """The driver of the last command."""
        last = len(commands) - 1
        entry = tables.Entry("main", last, 1, (), (), driver=(Run(0, 1),), variable_bits=(64,))
        model = tables.Plan("m", 0, 0, 256, 0, (), commands, (entry,))
        return driver_c.source(model, 0)

    def test_a_kernel_s_buffer_moves_within_its_storage(self) -> None:
        patch = BindingPatch(0, variable=0, start=64, size=128)
        binding = tables.Binding(Region.ARENA, 64, 64, Access.READ, 64)
        kernel = CommandKind.DISPATCH
        command = tables.Command(kernel, True, 0, (1, 1, 1), (), (binding,), (patch,))
        self.assertIn("bm_driver_bind(&k_bindings[0], 64u, 128u, v0)", self.driver(command))

    def test_an_entry_point_runs_its_own_commands(self) -> None:
        patch = BindingPatch(0, variable=0, start=64, size=32)
        binding = tables.Binding(Region.ARENA, 64, 4, Access.WRITE, 4)
        fill = tables.Command(CommandKind.FILL, True, 0, (0, 0, 0), (7, 2), (binding,))
        text = self.driver(fill, fill, dataclasses.replace(fill, patches=(patch,)))
        self.assertIn("bm_driver_bind(&k_bindings[2], ", text)
        self.assertIn("bm_plan_run(runner, 2, 1)", text)

    def test_both_ends_of_a_copy_move_together(self) -> None:
        source, target = (
            tables.Binding(Region.ARENA, offset, 4, access, 1)
            for offset, access in ((8, Access.READ), (64, Access.WRITE))
        )
        to = BindingPatch(1, variable=0, start=64, size=32)
        command = tables.Command(CommandKind.COPY, True, 0, (0, 0, 0), (), (source, target), (to,))
        self.assertIn(
            "bm_driver_bind_copy(&k_bindings[0], 8u, 4u, 0u, 64u, 32u, v0)", self.driver(command)
        )

    def test_a_place_known_at_run_time_is_patched_and_checked(self) -> None:
        model = (_MODELS / "update_slice.mlir").read_text(encoding="utf-8")
        plan = support.lower_text(model, self.folder).plan
        patched = [patch for command in plan.commands for patch in command.patches]
        self.assertTrue(patched)
        text = driver_c.source(plan, 0)
        for patch in patched:
            wanted = "bm_driver_bind(" if isinstance(patch, BindingPatch) else "k_constants["
            self.assertIn(wanted, text)


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
