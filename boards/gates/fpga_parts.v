// What surrounds an FPGA's system in the simulator: the FPGA's own parts that
// LiteX uses, the SDRAM, and the other end of the serial line. Synthesis sees
// none of it.
`ifdef VERILATOR

// The PLL, after it has locked. The SDRAM's clock is half a cycle late,
// whatever the board's is: between two cycles, a simulator has no other time.
module EHXPLLL #(
    parameter CLKFB_DIV = 1,
    parameter CLKI_DIV = 1,
    parameter CLKOP_CPHASE = 0,
    parameter CLKOP_DIV = 1,
    parameter CLKOP_ENABLE = "",
    parameter CLKOP_FPHASE = 0,
    parameter CLKOS2_CPHASE = 0,
    parameter CLKOS2_DIV = 1,
    parameter CLKOS2_ENABLE = "",
    parameter CLKOS2_FPHASE = 0,
    parameter CLKOS_CPHASE = 0,
    parameter CLKOS_DIV = 1,
    parameter CLKOS_ENABLE = "",
    parameter CLKOS_FPHASE = 0,
    parameter FEEDBK_PATH = ""
) (
    input  CLKI,
    input  RST,
    input  STDBY,
    output CLKOP,
    output CLKOS,
    output CLKOS2,
    output LOCK
);
  assign CLKOP = CLKI;
  assign CLKOS = ~CLKI;
  assign CLKOS2 = CLKI;
  assign LOCK = ~RST;
endmodule

module FD1S3BX (
    input CK,
    input D,
    input PD,
    output reg Q
);
  always @(posedge CK or posedge PD) Q <= PD ? 1'b1 : D;
endmodule

module ODDRX1F (
    input  D0,
    input  D1,
    input  SCLK,
    output Q
);
  assign Q = SCLK ? D0 : D1;
endmodule

module OFS1P3BX (
    input SCLK,
    input PD,
    input SP,
    input D,
    output reg Q
);
  always @(posedge SCLK) Q <= D;
endmodule

module IFS1P3BX (
    input SCLK,
    input PD,
    input SP,
    input D,
    output reg Q
);
  always @(posedge SCLK) Q <= D;
endmodule

module TRELLIS_IO #(
    parameter DIR = ""
) (
    inout  B,
    input  I,
    input  T,
    output O
);
  assign B = T ? 1'bz : I;
  assign O = B;
endmodule

// An SDRAM with a CAS latency of two cycles and bursts of one word. It keeps
// what it holds without being refreshed, and minds no pauses between commands.
module sdram_chip #(
    parameter BANK_BITS = 2,
    parameter ROW_BITS = 13,
    parameter COLUMN_BITS = 9,
    parameter BYTES = 2
) (
    input clk,
    input cke,
    input cs_n,
    input ras_n,
    input cas_n,
    input we_n,
    input [BANK_BITS-1:0] ba,
    input [12:0] a,
    input [BYTES-1:0] dm,
    inout [8*BYTES-1:0] dq
);
  reg [8*BYTES-1:0] cells[0:(1<<(BANK_BITS+ROW_BITS+COLUMN_BITS))-1];
  reg [ROW_BITS-1:0] row[0:(1<<BANK_BITS)-1];
  // Rows that commands have opened. Nothing is read or stored elsewhere.
  reg [(1<<BANK_BITS)-1:0] open = 0;
  reg [2:0] latency = 0;
  reg reading = 0, driving = 0;
  reg [8*BYTES-1:0] read, driven;
  wire [BANK_BITS+ROW_BITS+COLUMN_BITS-1:0] at = {ba, row[ba], a[COLUMN_BITS-1:0]};
  assign dq = driving ? driven : {8 * BYTES{1'bz}};

  integer i;
  always @(posedge clk) begin
    driving <= reading;
    driven  <= read;
    reading <= 0;
    if (cke && !cs_n) begin
      case ({ras_n, cas_n, we_n})
        3'b000: latency <= a[6:4];
        3'b010: open <= a[10] ? 0 : open & ~(1 << ba);
        3'b011: begin
          row[ba]  <= a[ROW_BITS-1:0];
          open[ba] <= 1;
        end
        3'b100:
        if (open[ba]) begin
          for (i = 0; i < BYTES; i = i + 1) if (!dm[i]) cells[at][8*i+:8] <= dq[8*i+:8];
          if (a[10]) open[ba] <= 0;
        end
        3'b101:
        if (open[ba] && latency == 2) begin
          reading <= 1;
          read <= cells[at];
          if (a[10]) open[ba] <= 0;
        end
        default: ;
      endcase
    end
  end
endmodule

// The other end of a serial line, which the simulator hands bytes and takes
// them from, as from LiteX's UART without the line.
module serial_line #(
    parameter CYCLES = 434
) (
    input clk,
    input rst,
    input tx,
    output rx,
    output reg source_valid,
    output reg [7:0] source_data,
    input sink_valid,
    output sink_ready,
    input [7:0] sink_data
);
  // A start bit, eight of data, and a stop bit.
  reg [31:0] in_wait = 0, out_wait = 0;
  reg [3:0] in_bits = 0, out_bits = 0;
  reg [9:0] out = 0;
  assign rx = out_bits == 0 || out[0];
  assign sink_ready = out_bits == 0 && !rst;

  always @(posedge clk) begin
    source_valid <= 0;
    if (rst) begin
      in_bits  <= 0;
      out_bits <= 0;
    end else begin
      if (in_bits == 0) begin
        if (!tx) begin
          in_bits <= 9;
          in_wait <= CYCLES + CYCLES / 2;
        end
      end else if (in_wait != 0) in_wait <= in_wait - 1;
      else begin
        in_bits <= in_bits - 1;
        in_wait <= CYCLES - 1;
        if (in_bits == 1) source_valid <= 1;
        else source_data <= {tx, source_data[7:1]};
      end
      if (out_bits == 0) begin
        if (sink_valid) begin
          out <= {1'b1, sink_data, 1'b0};
          out_bits <= 10;
          out_wait <= CYCLES - 1;
        end
      end else if (out_wait != 0) out_wait <= out_wait - 1;
      else begin
        out <= out >> 1;
        out_bits <= out_bits - 1;
        out_wait <= CYCLES - 1;
      end
    end
  end
endmodule

`endif
