"""Makes of an FPGA board's system one that simulator.cc runs: with an SDRAM, and a serial line's other end.

The system stays as it is for synthesis, which does not see what is added here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PARTS = Path(__file__).parent / "fpga_parts.v"

BOARD = """\
// What simulator.cc sees: the pins of a system of soc.py's.
`ifdef VERILATOR
module board (
    input sys_clk,
    input sys_rst,
    output serial_source_valid,
    input serial_source_ready,
    output [7:0] serial_source_data,
    input serial_sink_valid,
    output serial_sink_ready,
    input [7:0] serial_sink_data,
    output done_valid,
    output [31:0] done_status,
    // The ROM is in the FPGA, and never slow.
    input [7:0] rom_wait
);
  wire tx, rx;
{wires}
  // Nothing ends the run.
  assign done_valid  = 0;
  assign done_status = 0;
  system system (
      .clock(sys_clk),
      .reset({reset}),
      .serial_tx(tx),
      .serial_rx(rx),
      .sdram_clock(sdram_clock),
{pins}
  );
  sdram_chip #(
      .BANK_BITS({bank_bits}),
      .ROW_BITS({row_bits}),
      .COLUMN_BITS({column_bits}),
      .BYTES({size})
  ) sdram_chip (
      .clk(sdram_clock),
{chip}
  );
  serial_line #(
      .CYCLES({cycles})
  ) serial_line (
      .clk(sys_clk),
      .rst(sys_rst),
      .tx(tx),
      .rx(rx),
      .source_valid(serial_source_valid),
      .source_data(serial_source_data),
      .sink_valid(serial_sink_valid),
      .sink_ready(serial_sink_ready),
      .sink_data(serial_sink_data)
  );
endmodule
`endif
"""

# LiteX declares the pins of data as inputs, though its parts drive them. Programs for FPGAs know better, a simulator
# does not.
DATA = re.compile(r"^    input (.* sdram_dq,)\n", re.MULTILINE)
# simulator.cc fills the ROM, and the BIOS its RAM.
CONTENTS = re.compile(r"^initial begin\n\t\$readmemh.*\nend\n", re.MULTILINE)


def system(verilog: str) -> str:
    """Returns a system's Verilog with what a simulator needs, and synthesis does not see."""
    verilog = DATA.sub(r"`ifdef VERILATOR\n    inout \1\n`else\n\g<0>`endif\n", verilog)
    return CONTENTS.sub(r"`ifndef VERILATOR\n\g<0>`endif\n", verilog)


def board(facts: dict[str, Any], geometry: Any, cycles: int) -> str:
    """Returns the Verilog of what is around a system.

    Args:
      facts: fpga.json.
      geometry: of the SDRAM, as LiteDRAM describes it.
      cycles: how many of them a bit takes on the serial line.
    """
    widths = {name: len(pins.split()) for name, pins in facts["sdram"]["pins"].items()}
    chip = {name: f"sdram_{name}" for name in widths}
    # What some boards wire to a constant level.
    constant = {"cke": "1'b1", "cs_n": "1'b0", "dm": "0"}
    return BOARD.format(
        wires="  wire sdram_clock;\n"
        + "\n".join(f"  wire [{width - 1}:0] sdram_{name};" for name, width in widths.items()),
        reset="sys_rst" if facts["reset"]["level"] else "~sys_rst",
        pins=",\n".join(f"      .sdram_{name}({wire})" for name, wire in chip.items()),
        chip=",\n".join(f"      .{name}({wire})" for name, wire in (constant | chip).items()),
        bank_bits=geometry.bankbits,
        row_bits=geometry.rowbits,
        column_bits=geometry.colbits,
        size=widths["dq"] // 8,
        cycles=cycles,
    )
