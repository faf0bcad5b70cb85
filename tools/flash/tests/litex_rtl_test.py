"""LiteX's BIOS, on a CPU design in gates, receives firmware over its serial line and boots it."""

from __future__ import annotations

import subprocess
import unittest
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tools.flash.tests.relay import Relay
from tools.flash.tests.rig import Rig, path_of

BOARD = "litex_vexriscv_bios"


class LitexRtlTest(Rig):
    def board(self) -> tuple[str, subprocess.Popen[bytes]]:
        """Starts the gates; returns the board's serial port, and the board."""
        board = self.start([str(path_of(name)) for name in ("PORT", "SIMULATOR", "BIOS")])
        self.wait_until(lambda: self.log.read_text().endswith("\n"), board)
        return self.log.read_text().strip(), board

    def cable(self, **faults: object) -> Relay:
        relay = Relay(Path(self.board()[0]), **faults)  # type: ignore[arg-type]
        self.addCleanup(relay.close)
        return relay

    def test_model_to_pass(self) -> None:
        port, board = self.board()
        done = self.flash(path_of("MODEL_LITEX"), BOARD, "--port", port, "--monitor")
        self.assert_passed(done)
        self.assertIn("verified: crc32", done.text)
        self.assertEqual(board.wait(), 0)

    def test_cut_in_the_middle_then_resumed_with_another_weight(self) -> None:
        port, board = self.board()
        cut = Relay(Path(port), cut_after=30_000)
        self.addCleanup(cut.close)
        done = self.flash(path_of("MODEL_LITEX"), BOARD, "--port", cut.path)
        self.assert_refused(done, "vanished: plug it in again and run the same command again")
        done = self.flash(self.with_another_weight(), BOARD, "--port", port, "--monitor")
        self.assertIn("16384 bytes at 0x40000000 are there already", done.text)
        self.assertIn("verified: crc32", done.text)
        self.assertEqual(done.status, 1, done.text)
        self.assertRegex(done.text, "weights")
        self.assertNotEqual(board.wait(), 0)

    def with_another_weight(self) -> Path:
        """Returns the model's image with one bit of a weight changed."""
        image = path_of("MODEL_LITEX")
        data = bytearray(image.read_bytes())
        with image.open("rb") as file:
            weights = ELFFile(file).get_section_by_name(".bm.weights")
            data[weights["sh_offset"] + 1000] ^= 1
        changed = self.folder / "changed.elf"
        changed.write_bytes(data)
        return changed

    def test_bytes_lost_and_flipped(self) -> None:
        cable = self.cable(lose=3e-4, flip=3e-4)
        done = self.flash(path_of("PASS_LITEX"), BOARD, "--port", cable.path, "--monitor")
        self.assert_passed(done)
        self.assertGreater(cable.lost, 0)
        self.assertGreater(cable.flipped, 0)


if __name__ == "__main__":
    unittest.main()
