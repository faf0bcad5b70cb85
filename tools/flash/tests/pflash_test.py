"""QEMU's flash chip: written, read back, booted, executed in place."""

from __future__ import annotations

import unittest

from tools.flash.tests.rig import DEADLINE, Rig, path_of
from tools.run import process, result

BOARD = "qemu_virt_rv64_flash"


class PflashTest(Rig):
    def test_written_verified_and_executed_in_place(self) -> None:
        chip = self.folder / "chip"
        done = self.flash(path_of("MODEL_FLASH"), BOARD, "--port", str(chip))
        self.assertEqual(done.status, 0, done.text)
        self.assertIn("verified: sha256", done.text)
        drive = f"if=pflash,unit=0,format=raw,readonly=on,file={chip}"
        argv = self.qemu("-bios", "none", "-serial", "stdio", "-net", "none", "-drive", drive)
        outcome = process.run(argv, DEADLINE)
        verdict = result.judge(outcome)
        self.assertTrue(verdict.ok, verdict.sentence)

    def test_image_of_another_board_leaves_the_chip(self) -> None:
        chip = self.folder / "chip"
        chip.write_bytes(b"old")
        done = self.flash(path_of("PASS"), BOARD, "--port", str(chip))
        self.assert_refused(done, "built for qemu_virt_rv64_uboot, not for qemu_virt_rv64_flash")
        self.assertEqual(chip.read_bytes(), b"old")


if __name__ == "__main__":
    unittest.main()
