"""Reports and budgets on a small link map in lld's format."""

from __future__ import annotations

import unittest
from typing import Any

from tools.size import budget, image_report, link_map

MAP = """\
             VMA              LMA     Size Align Out     In      Symbol
        80000000         80000000       60     4 .text
        80000000         80000000       10     4         bin/runtime_bm/crt/libcrt.a(start.o):(.text.bm_start)
        80000000         80000000        0     1                 _start
        80000010         80000010       20     4         bin/runtime_bm/libruntime_bm.a(plan_run.o):(.text.bm_plan_run)
        80000030         80000030       30     4         bin/boards/spike_rv64/libhal.a(board.o):(.text.bm_hal_exit)
        80001000         80001000      800  4096 .bm.kernels
        80001000         80001000      800  4096         bin/models/m/_objs/m/kernels.o:(.bm.kernels.m)
        80001800         80001800      100    64 .bm.weights
        80001800         80001800       c0    64         bin/models/m/_objs/m/weights.o:(.bm.weights.m)
        80002000         80002000      200    64 .bm.arena
        80002000         80002000      200    64         bin/models/m/_objs/f/firmware.o:(.bss.bm_arena)
        80004000         80004000     4000  4096 .bm.stack
               0                0       99     1 .comment
               0                0       99     1         <internal>:(.comment)
"""

BOARD: dict[str, Any] = {
    "memory": [{"length": "0x10000", "name": "ram", "origin": "0x80000000"}],
    "name": "spike_rv64",
}
MODEL: dict[str, Any] = {
    "arena": {"bytes": 0x200},
    "flash": {"golden_bytes": 0, "kernels_bytes": 0x800, "weights_bytes": 0xC0},
    "name": "m",
}


def report() -> dict[str, Any]:
    return image_report.build(MAP.splitlines(), BOARD, MODEL)


class LinkMapTest(unittest.TestCase):
    def test_every_byte_is_counted_once(self) -> None:
        pieces = link_map.parse(MAP.splitlines())
        self.assertEqual(sum(p.bytes for p in pieces), 0x60 + 0x800 + 0x100 + 0x200 + 0x4000)

    def test_padding_is_what_no_input_accounts_for(self) -> None:
        self.assertEqual(report()["flash_bytes"]["padding"], 0x40)


class ReportTest(unittest.TestCase):
    def test_parts(self) -> None:
        flash = report()["flash_bytes"]
        self.assertEqual(flash["kernels"], 0x800)
        self.assertEqual(flash["weights"], 0xC0)
        self.assertEqual(flash["runtime"], 0x20)
        self.assertEqual(flash["board"], 0x30)
        self.assertEqual(flash["application"], 0x10)
        self.assertEqual(flash["total"], 0x60 + 0x800 + 0x100)

    def test_ram_and_memory(self) -> None:
        self.assertEqual(report()["ram_bytes"]["arena"], 0x200)
        self.assertEqual(report()["ram_bytes"]["stack"], 0x4000)
        self.assertEqual(report()["memory"][0]["used"], 0x60 + 0x800 + 0x100 + 0x200 + 0x4000)

    def test_room(self) -> None:
        image_report.check_room(BOARD, MODEL)
        large = {**MODEL, "flash": {**MODEL["flash"], "weights_bytes": 0x20000}}
        with self.assertRaisesRegex(
            image_report.SizeError,
            r"m does not fit into the ram of spike_rv64: at least 133,632 bytes needed, 65,536 available; "
            r"largest parts in bytes: weights 131,072, kernels 2,048, arena 512",
        ):
            image_report.check_room(BOARD, large)

    def test_room_in_two_memories(self) -> None:
        flash = {"length": "0x1000", "name": "flash", "origin": "0x20000000"}
        board = {**BOARD, "memory": [flash, *BOARD["memory"]]}
        image_report.check_room(board, MODEL)
        with self.assertRaisesRegex(image_report.SizeError, "into the ram of .* arena 131,072"):
            image_report.check_room(board, {**MODEL, "arena": {"bytes": 0x20000}})
        kernels = {**MODEL, "flash": {**MODEL["flash"], "kernels_bytes": 0x1000}}
        with self.assertRaisesRegex(image_report.SizeError, "into the flash of .* kernels 4,096"):
            image_report.check_room(board, kernels)


class BudgetTest(unittest.TestCase):
    def test_within(self) -> None:
        self.assertEqual(budget.check({"limits": {"arena_bytes": 520}}, report()), [])

    def test_over(self) -> None:
        problems = budget.check({"limits": {"arena_bytes": 511}}, report())
        self.assertEqual(problems, ["arena_bytes is 512, over its budget of 511"])

    def test_stale(self) -> None:
        (problem,) = budget.check({"limits": {"arena_bytes": 600}}, report())
        self.assertIn("more than 5 % under its budget of 600", problem)

    def test_wrong_file(self) -> None:
        with self.assertRaisesRegex(budget.BudgetError, "arena_bites"):
            budget.check({"limits": {"arena_bites": 1}}, report())
        with self.assertRaisesRegex(budget.BudgetError, "no `limits`"):
            budget.check({}, report())
        with self.assertRaisesRegex(budget.BudgetError, "instructions"):
            budget.check({"limits": {"instructions": 1}}, report())


if __name__ == "__main__":
    unittest.main()
