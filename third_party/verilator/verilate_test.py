"""Tests what is kept of Verilator's messages, and what it makes of a design that is right or wrong."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path

from third_party.verilator import verilate

VERILATOR = Path(os.environ["VERILATOR"])
WARNS = "module top(input [1:0] a, output [3:0] y); wire [2:0] unused; assign y = a; endmodule\n"
WRONG = WARNS + "module other(; endmodule\n"


class VerilateTest(unittest.TestCase):
    def run_on(self, verilog: str) -> tuple[int, str, Path]:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "top.sv").write_text(verilog)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = verilate.main(
                [
                    f"--verilator={VERILATOR}",
                    f"--root={VERILATOR.parents[1] / 'share/verilator'}",
                    f"--design={folder / 'top.sv'}",
                    "--top=top",
                    "--prefix=Top",
                    *(f"--{name}={folder / name}" for name in ("sources", "once", "headers")),
                ]
            )
        return status, said.getvalue(), folder

    def test_a_design(self) -> None:
        status, said, folder = self.run_on(WARNS)
        self.assertEqual((status, said), (0, ""))
        self.assertTrue((folder / "headers/Top.h").is_file())
        self.assertTrue((folder / "sources/Top.cpp").is_file())
        self.assertTrue(list((folder / "once").glob("*Slow.cpp")))

    def test_a_wrong_one(self) -> None:
        status, said, _ = self.run_on(WRONG)
        self.assertEqual(status, 1)
        self.assertIn("top.sv:2:14: syntax error", said)

    def test_warnings_are_not_shown(self) -> None:
        said = "%Warning-WIDTH: a.sv:1:2: too wide\n    1 | x\n%Error: a.sv:2:3: wrong\n    2 | y\n"
        self.assertEqual(verilate.errors(said), "%Error: a.sv:2:3: wrong\n    2 | y")


if __name__ == "__main__":
    unittest.main()
