"""The size of VexRiscv's data cache, in a piece of its Verilog."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from boards.gates import vexriscv_cache
from tools.cli import UserError

VERILOG = """\
module InstructionCache (
  reg [9:0] index;
endmodule
module DataCache (
  wire [9:0] word;
  reg        [6:0]    line;
  reg        [7:0]    stageB_flusher_counter;
  reg [7:0] ways_0_data_symbol0 [0:1023];
  reg [21:0] ways_0_tags [0:127];
  assign line = stageB_flusher_counter[6:0];
  assign done = stageB_flusher_counter[7];
  assign line = address[11 : 5];
  assign word = address[11 : 2];
  assign tag = address[31 : 12];
endmodule
"""


class CacheTest(unittest.TestCase):
    def test_more_bits_choose_the_line_and_tags_stay(self) -> None:
        text = vexriscv_cache.enlarged(VERILOG, 16384)
        for line in (
            "wire [11:0] word;",
            "reg        [8:0]    line;",
            "reg        [9:0]    stageB_flusher_counter;",
            "reg [7:0] ways_0_data_symbol0 [0:4095];",
            "reg [21:0] ways_0_tags [0:511];",
            "line = stageB_flusher_counter[8:0];",
            "done = stageB_flusher_counter[9];",
            "line = address[13:5];",
            "word = address[13:2];",
            "tag = address[31 : 12];",
            "reg [9:0] index;",
        ):
            self.assertIn(line, text)

    def test_sizes_that_it_cannot_have(self) -> None:
        for size in (4096, 1024, 12288):
            with self.assertRaisesRegex(UserError, f"^a data cache of {size} bytes: use"):
                vexriscv_cache.enlarged(VERILOG, size)

    def test_another_module_or_none(self) -> None:
        with self.assertRaisesRegex(UserError, "^the module DataCache is another one"):
            vexriscv_cache.enlarged(VERILOG.replace("[0:127]", "[0:63]"), 8192)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "cpu.v").write_text("module Cpu (); endmodule")
            with self.assertRaisesRegex(UserError, "^--data-cache is for VexRiscv"):
                vexriscv_cache.enlarge(Path(folder), 8192)


if __name__ == "__main__":
    unittest.main()
