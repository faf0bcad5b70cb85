"""The runner's verdict on firmware that ends badly in the real emulator."""

from __future__ import annotations

import os
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from tools.run import deadline, process, result
from tools.run.fake_clock import FakeClock

CPU = "rv64,v=true,vext_spec=v1.0,vlen=128,elen=64"
PROGRAMS = {Path(p).stem: p for p in os.environ["FIRMWARES"].split()}


def boot(name: str, on_line: Callable[[str], None] = lambda line: None) -> result.Outcome:
    """Boots firmware from runtime_bm/testing/firmwares in QEMU."""
    qemu = str(Path(os.environ["QEMU"]).absolute())
    argv = [qemu, "-machine", "virt", "-m", "512M", "-bios", "none", "-nographic"]
    argv += ["-monitor", "none", "-cpu", CPU, "-kernel", PROGRAMS[name]]
    return process.run(argv, 1e6, on_line)


class FirmwareTest(unittest.TestCase):
    def check_fails(self, outcome: result.Outcome, sentence: str) -> None:
        verdict = result.judge(outcome)
        self.assertFalse(verdict.ok, verdict.sentence)
        self.assertRegex(verdict.sentence, sentence)

    def test_good_firmware_passes(self) -> None:
        verdict = result.judge(boot("good"))
        self.assertTrue(verdict.ok, verdict.sentence)

    def test_hang(self) -> None:
        clock = FakeClock()
        with mock.patch.object(deadline, "time", clock):
            outcome = boot("hang", clock.pass_deadlines)
        self.check_fails(outcome, "the deadline passed")
        self.assertTrue(outcome.lines, "what was printed before must be kept")

    def test_early_return(self) -> None:
        self.check_fails(boot("early_return"), "without a PASS record")

    def test_application_that_returns_0(self) -> None:
        verdict = result.judge_application(boot("early_return"))
        self.assertTrue(verdict.ok, verdict.sentence)

    def test_application_that_returns_7(self) -> None:
        verdict = result.judge_application(boot("return_7"))
        self.assertRegex(verdict.sentence, "ended with exit status 7: 0 from main")
        self.assertFalse(verdict.ok)

    def test_pass_then_die(self) -> None:
        outcome = boot("pass_then_die")
        self.assertTrue(outcome.records("PASS"))
        self.check_fails(outcome, "TRAP cause=|exit status [1-9]")


if __name__ == "__main__":
    unittest.main()
