"""U-Boot in QEMU fetches firmware by TFTP from QEMU's own server and boots it."""

from __future__ import annotations

import unittest
from pathlib import Path

from tools.flash.tests.relay import Relay
from tools.flash.tests.rig import Rig, path_of

BOARD = "qemu_virt_rv64_uboot"


class UBootTftpTest(Rig):
    def network(self) -> tuple[Relay, Path]:
        """U-Boot with a network card, and the folder that is served there."""
        served = self.folder / "served"
        served.mkdir()
        card = ["-netdev", f"user,id=n,tftp={served}", "-device", "virtio-net-device,netdev=n"]
        cable = Relay(self.u_boot(*card))
        self.addCleanup(cable.close)
        return cable, served

    def test_model_to_pass(self) -> None:
        cable, served = self.network()
        args = ["--method", "uboot-tftp", "--port", cable.path, "--tftp-root", str(served)]
        done = self.flash(path_of("MODEL"), BOARD, *args, "--monitor")
        self.assert_passed(done)
        self.assertIn("verified: crc32", done.text)

    def test_folder_that_nobody_serves(self) -> None:
        cable, _ = self.network()
        other = self.folder / "other"
        other.mkdir()
        args = ["--method", "uboot-tftp", "--port", cable.path, "--tftp-root", str(other)]
        done = self.flash(path_of("PASS"), BOARD, *args)
        self.assert_refused(done, "U-Boot could not fetch .* check the cable")


if __name__ == "__main__":
    unittest.main()
