"""U-Boot in QEMU receives firmware over a serial line that loses, flips, breaks or is set wrong."""

from __future__ import annotations

import unittest

from tools.flash.tests.relay import Relay
from tools.flash.tests.rig import Rig, path_of

BOARD = "qemu_virt_rv64_uboot"


class UBootFaultsTest(Rig):
    def cable(self, **faults: object) -> Relay:
        relay = Relay(self.u_boot(), **faults)  # type: ignore[arg-type]
        self.addCleanup(relay.close)
        return relay

    def test_bytes_lost_and_flipped(self) -> None:
        cable = self.cable(lose=3e-4, flip=3e-4)
        done = self.flash(path_of("PASS"), BOARD, "--port", cable.path, "--monitor")
        self.assert_passed(done)
        self.assertGreater(cable.lost, 0)
        self.assertGreater(cable.flipped, 0)

    def test_cut_in_the_middle_then_resumed(self) -> None:
        line = self.u_boot()
        cut = Relay(line, cut_after=72_000)
        done = self.flash(path_of("MODEL"), BOARD, "--port", cut.path)
        self.assert_refused(done, "vanished: plug it in again and run the same command again")
        whole = Relay(line)
        self.addCleanup(whole.close)
        done = self.flash(path_of("MODEL"), BOARD, "--port", whole.path, "--monitor")
        self.assert_passed(done)
        self.assertIn("are there already", done.text)

    def test_wrong_baud_rate(self) -> None:
        cable = self.cable(garbage=True)
        done = self.flash(path_of("PASS"), BOARD, "--port", cable.path, "--wait", "8")
        self.assert_refused(done, "no U-Boot prompt .* check the baud rate")


if __name__ == "__main__":
    unittest.main()
