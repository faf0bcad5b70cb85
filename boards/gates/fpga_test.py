"""Tests what is made of an FPGA board's facts."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

from boards.gates import fpga

ULX3S = Path("boards/litex_ulx3s/fpga.json")


class FpgaTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.facts: dict[str, Any] = json.loads(ULX3S.read_text())

    def make(self, name: str) -> tuple[int, str]:
        """Makes the system of self.facts; returns the status and what went to stderr."""
        board = self.folder / "fpga.json"
        board.write_text(json.dumps(self.facts))
        out = self.folder / name
        args = ["--board", str(board), "--part", "LFE5U-85F-6BG381C", "--cpu", "vexriscv"]
        args += ["--variant", "imac", "--hertz", "45000000", "--baud", "115200", "--rom", "32768"]
        args += ["--rtl", str(out), "--csr", str(out / "csr.json"), "--software", str(out)]
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            return fpga.main(args), stderr.getvalue()

    def test_a_system(self) -> None:
        self.assertEqual(self.make("one"), (0, ""))
        self.assertEqual(self.make("two"), (0, ""))
        for file in (self.folder / "one").glob("*.*"):
            with self.subTest("twice the same", file=file.name):
                self.assertEqual(file.read_text(), (self.folder / "two" / file.name).read_text())

        sites = re.findall(
            r'LOCATE COMP "(\S+)" SITE "(\w+)"', (self.folder / "one/system.lpf").read_text()
        )
        placed = dict(sites)
        self.assertEqual(placed["clock"], "G2")
        self.assertEqual(placed["serial_tx"], "L4")
        self.assertEqual(placed["sdram_dq[15]"], self.facts["sdram"]["pins"]["dq"].split()[15])
        self.assertEqual(placed["high0"], "L2")
        self.assertEqual(len({site for _, site in sites}), len(sites))

        # A simulator sees the pins of data as what they are, and fills memories itself.
        verilog = (self.folder / "one/system.v").read_text()
        seen = re.sub(r"^`ifndef VERILATOR\n(?s:.*?)^`endif\n", "", verilog, flags=re.MULTILINE)
        self.assertTrue("`ifdef VERILATOR\n    inout  wire   [15:0] sdram_dq,\n" in seen)
        self.assertEqual(re.findall(r"\$readmemh.*", seen), [])
        read = set(re.findall(r'\$readmemh\("(\S+)"', verilog))
        self.assertEqual(read, {"system_rom.init", "system_sram.init"})

    def test_a_fact_that_is_missing(self) -> None:
        del self.facts["sdram"]["degrees"]
        status, said = self.make("lacking")
        self.assertEqual(status, 1)
        self.assertRegex(said, r"^fpga: \S+/fpga.json lacks degrees in sdram: .* is an example\n$")

    def test_a_chip_that_nobody_knows(self) -> None:
        self.facts["sdram"]["chip"] = "MT00"
        status, said = self.make("unknown")
        self.assertEqual(status, 1)
        self.assertRegex(said, r"^fpga: \S+/fpga.json: LiteDRAM knows no chip MT00: name one")


if __name__ == "__main__":
    unittest.main()
