"""Tests the table of runs in gates."""

from __future__ import annotations

import unittest

from tools.report import gates
from tools.run import result

LINES = (
    "BM1 MODEL name=net",
    "BM1 STATS instret=1000 cycles=2345 arena=64 stack=512 walker=- workgroup=-",
    "BM1 HASH 9d4ce1b8876055c6",
    "BM1 PASS cases=1",
)


class RowTest(unittest.TestCase):
    def test_a_design_has_cycles(self) -> None:
        self.assertEqual(
            gates.row("net", "rv32imc", "litex_ibex", result.Outcome(LINES, 0)),
            "| `net` | rv32imc | `litex_ibex` | `9d4ce1b8876055c6` | 1,000 | 2,345 | 2.35 |",
        )

    def test_an_emulator_has_none(self) -> None:
        for where in ("qemu_virt_rv32", "spike_rv32"):
            line = gates.row("net", "rv32imc", where, result.Outcome(LINES, 0))
            self.assertTrue(line.endswith("| 1,000 |  |  |"), line)

    def test_a_run_without_numbers(self) -> None:
        with self.assertRaisesRegex(result.RecordError, "net on litex_ibex: no HASH or STATS"):
            gates.row("net", "rv32imc", "litex_ibex", result.Outcome(LINES[:2], 0))


if __name__ == "__main__":
    unittest.main()
