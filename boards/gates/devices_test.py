"""Tests how the files of devices are loaded, and what is said of those that are wrong."""

from __future__ import annotations

import logging
import sys
import tempfile
import unittest
from pathlib import Path

from litex.build.sim import SimPlatform
from litex.soc.integration.soc_core import SoCCore

from boards.gates.devices import add_device
from tools.cli import UserError

_GOOD = """
from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRStorage
from size_of import BITS

class Lamp(LiteXModule):
    def __init__(self):
        self.color = CSRStorage(BITS)

def add_to(soc, name):
    soc.add_module(name, Lamp())
"""


class DevicesTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.INFO)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def system(self) -> SoCCore:
        platform = SimPlatform("SIM", [], name="system")
        return SoCCore(platform, clk_freq=1_000_000, cpu_type=None, with_uart=False)

    def add(self, text: str, system: SoCCore | None = None) -> None:
        file = self.folder / "device.py"
        file.write_text(text)
        add_device(system or self.system(), "lamp", file)

    def test_a_device_is_in_the_system(self) -> None:
        (self.folder / "size_of.py").write_text("BITS = 24\n")
        system = self.system()
        self.add(_GOOD, system)
        system.finalize()
        (color,) = system.csr_regions["lamp"].obj
        self.assertEqual((color.name, color.size), ("color", 24))

    def test_a_file_that_is_wrong_is_named(self) -> None:
        for text, sentence in {
            "add_to = 3": "device.py, of device 'lamp', has no function 'add_to'",
            "import nothing": "raised ModuleNotFoundError: No module named 'nothing'",
            "def add_to(soc, name): soc.nothing": "'lamp', raised AttributeError: ",
            "def add_to(soc, name): soc.bus.add_slave(name)": "'lamp', raised SoCError: ",
        }.items():
            with self.subTest(text), self.assertRaisesRegex(UserError, sentence):
                self.add(text)
            self.assertIsNotNone(sys.stderr)


if __name__ == "__main__":
    unittest.main()
