"""The vendors' own programs take the command lines they are given, as far as that goes without a chip."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

from tools.flash.tests.rig import Done, Rig, path_of

BOARD = "hifive1_revb"


class UsbTest(Rig):
    def flash_by(self, method: str, settings: dict[str, Any], *args: str) -> Done:
        """Flashes a board that is like BOARD but for its method."""
        description = json.loads(Path("boards", BOARD, "board.json").read_text())
        description["flash"] = {"default": method, "methods": {method: settings}}
        other = self.folder / "board.json"
        other.write_text(json.dumps(description))
        return self.flash(path_of("PASS_RV32"), BOARD, "--board", str(other), *args)

    def test_dfu_util_looks_for_the_device(self) -> None:
        done = self.flash_by("dfu", {"alt": "0", "device": "28e9:0189"})
        # 74: it has understood everything and found no device. 64 would be a usage error.
        self.assert_refused(done, "dfu.util ended with status 74 .*No DFU capable USB device")

    def test_esptool_packs_and_looks_for_the_port(self) -> None:
        settings = {"chip": "esp32c6", "offset": "0x0"}
        done = self.flash_by("esptool", settings, "--port", "/dev/none")
        self.assert_refused(done, "/dev/none.* check the cable and that the board is in its loader")
        self.assertNotIn("Usage", done.text)

    def test_esptool_refuses_another_chip(self) -> None:
        done = self.flash_by("esptool", {"chip": "esp33", "offset": "0x0"})
        self.assert_refused(done, "ended with status 2")


if __name__ == "__main__":
    unittest.main()
