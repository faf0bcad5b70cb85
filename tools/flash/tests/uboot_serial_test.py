"""U-Boot in QEMU receives firmware over the emulated serial line and boots it."""

from __future__ import annotations

import unittest

import serial

from tools.flash.tests.relay import Relay
from tools.flash.tests.rig import Rig, path_of

BOARD = "qemu_virt_rv64_uboot"


class UBootSerialTest(Rig):
    def cable(self, **faults: object) -> Relay:
        relay = Relay(self.u_boot(), **faults)  # type: ignore[arg-type]
        self.addCleanup(relay.close)
        return relay

    def test_model_by_ymodem_to_pass(self) -> None:
        cable = self.cable()
        done = self.flash(path_of("MODEL"), BOARD, "--port", cable.path, "--monitor")
        self.assert_passed(done)
        self.assertIn("verified: crc32", done.text)

    def test_port_in_use(self) -> None:
        cable = self.cable()
        with serial.Serial(cable.path, exclusive=True):
            done = self.flash(path_of("PASS"), BOARD, "--port", cable.path)
        self.assert_refused(done, "in use by another program")


if __name__ == "__main__":
    unittest.main()
