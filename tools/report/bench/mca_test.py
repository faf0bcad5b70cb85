"""What llvm-mca is asked, and what its answer means; a script stands for llvm-mca."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from tools.report.bench import mca
from tools.report.bench.code_test import VECTOR, kernel

ANSWER = '{"CodeRegions": [{"SummaryView": {"TotalCycles": 2700}}]}'


class McaTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = Path(folder.name) / "mca"
        self.asked = Path(folder.name) / "asked"
        self.core = mca.Core(str(self.program), "spacemit-x60")

    def answer(self, status: int) -> None:
        self.program.write_text(
            f"#!/bin/sh\n(echo \"$@\"; cat) > '{self.asked}'\necho '{ANSWER}'\nexit {status}\n"
        )
        self.program.chmod(0o755)

    def test_cycles_of_one_iteration_on_the_core(self) -> None:
        self.answer(0)
        (loop,) = kernel(VECTOR).loops
        setting = "zero, zero, e16, m2, ta, ma"
        self.assertEqual(mca.cycles([(loop, setting)], self.core), [27.0])
        flags, *text = self.asked.read_text().splitlines()
        self.assertIn(" -mcpu=spacemit-x60 ", flags)
        self.assertEqual(
            text[1:4], [".L0:", "# LLVM-MCA-RISCV-LMUL M2", "# LLVM-MCA-RISCV-SEW E16"]
        )
        self.assertEqual(text[-2:], ["bne s5, a4, .L0", "# LLVM-MCA-END"])

    def test_an_instruction_that_the_core_does_not_have(self) -> None:
        self.answer(1)
        (loop,) = kernel(VECTOR).loops
        self.assertIsNone(mca.cycles([(loop, "")], self.core))
        self.assertNotIn("LMUL", self.asked.read_text())

    def test_no_loops_need_no_program(self) -> None:
        self.assertEqual(mca.cycles([], self.core), [])


if __name__ == "__main__":
    unittest.main()
