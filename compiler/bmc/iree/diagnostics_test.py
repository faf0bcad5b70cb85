"""Tests the error for an IREE program that crashes."""

from __future__ import annotations

import signal
import unittest
from pathlib import Path

from bmc.iree.diagnostics import rejection


class DiagnosticsTest(unittest.TestCase):
    def test_a_crash_of_iree_compile_is_one_sentence(self) -> None:
        messages = (
            "Please report issues and include the crash backtrace.\nStack dump:\n0. Program\n"
        )
        error = rejection("iree-compile", messages, -signal.SIGSEGV, Path("reproducer"))
        self.assertEqual(error.kind, "iree-crashed")
        self.assertEqual(error.message, "iree-compile crashed with SIGSEGV and gave no reason")
        self.assertIn("unroll loops", error.hint)
        self.assertIn("reproducer: reproducer", error.hint)


if __name__ == "__main__":
    unittest.main()
