"""U-Boot in supervisor mode, above OpenSBI, as on boards of that kind: receives firmware and starts it."""

from __future__ import annotations

import unittest
from pathlib import Path

from tools.flash.tests.relay import Relay
from tools.flash.tests.rig import Rig, path_of


class UBootSupervisorTest(Rig):
    def u_boot(self, *args: str, harts: int = 2) -> Path:
        """Starts OpenSBI and U-Boot in QEMU; returns the socket of its serial line."""
        line = self.folder / "serial"
        boot = ["-bios", str(path_of("OPENSBI")), "-kernel", str(path_of("U_BOOT_SMODE"))]
        boot += ["-smp", str(harts), "-no-reboot", "-net", "none"]
        boot += [*self.serial(line), *args]
        self.start_listening(line, self.qemu(*boot))
        return line

    def test_model_on_all_harts(self) -> None:
        # U-Boot's `go` does not tell the image which hart it is on.
        cable = Relay(self.u_boot(harts=4))
        self.addCleanup(cable.close)
        board = "qemu_virt_rv64_smode"
        done = self.flash(path_of("MODEL_SMODE_HARTS"), board, "--port", cable.path, "--monitor")
        self.assert_passed(done)

    def test_model_by_ymodem_to_pass(self) -> None:
        cable = Relay(self.u_boot())
        self.addCleanup(cable.close)
        board = "qemu_virt_rv64_smode"
        done = self.flash(path_of("MODEL_SMODE"), board, "--port", cable.path, "--monitor")
        self.assert_passed(done)
        self.assertIn("verified: crc32", done.text)


if __name__ == "__main__":
    unittest.main()
