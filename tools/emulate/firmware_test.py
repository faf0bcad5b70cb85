"""Broken firmware in real emulators: what the runner says and leaves behind."""

from __future__ import annotations

import os
import unittest
from pathlib import Path

from tools.emulate import process, result

QEMU = Path(os.environ["QEMU"]).absolute()
FIRMWARES = Path(os.environ["FIRMWARES"])


def boot(name: str, deadline: float = 60) -> result.Outcome:
    """Boots a firmware of runtime_bm/testing/firmwares in QEMU."""
    cpu = "rv64,v=true,vext_spec=v1.0,vlen=128,elen=64"
    argv = [str(QEMU), "-machine", "virt", "-m", "512M", "-bios", "none", "-nographic"]
    argv += ["-monitor", "none", "-cpu", cpu, "-kernel", str(FIRMWARES / f"{name}.elf")]
    return process.run(argv, deadline)


class FirmwareTest(unittest.TestCase):
    def check_fails(self, name: str, sentence: str, deadline: float = 60) -> None:
        verdict = result.judge(boot(name, deadline))
        self.assertFalse(verdict.ok, verdict.sentence)
        self.assertIn(sentence, verdict.sentence)

    def test_good_firmware_passes(self) -> None:
        verdict = result.judge(boot("pass"))
        self.assertTrue(verdict.ok, verdict.sentence)

    def test_trap(self) -> None:
        self.check_fails("trap", "TRAP cause=")

    def test_stack_overflow_hits_the_guard(self) -> None:
        self.check_fails("stack_overflow", "TRAP cause=")

    def test_hang(self) -> None:
        self.check_fails("hang", "the deadline passed", deadline=3)

    def test_early_return(self) -> None:
        self.check_fails("early_return", "without a PASS record")

    def test_pass_then_die(self) -> None:
        self.check_fails("pass_then_die", "")

    def test_wrong_answer(self) -> None:
        self.check_fails("fail", "FAIL cases=")

    def test_vlen_too_small(self) -> None:
        self.check_fails("wrong_vlen", "VLEN")


if __name__ == "__main__":
    unittest.main()
