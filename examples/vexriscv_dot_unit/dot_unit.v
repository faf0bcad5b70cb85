// Dot products of int8. Software writes a window; the unit reads rows of weights
// from memory and multiplies each with it. README.md describes the registers.
module dot_unit (
    input  wire        clk,
    input  wire        rst,
    // Registers, for the CPU. The addresses of both buses are of words.
    input  wire        s_cyc,
    input  wire        s_stb,
    input  wire        s_we,
    input  wire [ 9:0] s_adr,
    input  wire [31:0] s_dat_w,
    output wire [31:0] s_dat_r,
    output reg         s_ack,
    // Weights, from memory.
    output wire        m_cyc,
    output reg  [29:0] m_adr,
    input  wire [31:0] m_dat_r,
    input  wire        m_ack
);
  localparam WEIGHTS = 0, WORDS = 1, OUTPUTS = 2;

  reg [31:0] window[0:255];
  reg signed [31:0] sums[0:255];
  // Words of a row, and rows: those to compute, those that are read, and those
  // that are done.
  reg [8:0] words, outputs, asked, done;
  reg [31:0] busy;

  wire write = s_cyc & s_stb & s_we & s_ack;
  reg [31:0] sum_read, register_read;
  assign s_dat_r = s_adr[9] ? sum_read : register_read;
  always @(posedge clk) begin
    s_ack <= s_cyc & s_stb & ~s_ack & ~rst;
    sum_read <= sums[s_adr[7:0]];
    register_read <= s_adr[2] ? busy : {23'd0, done};
    if (write & s_adr[8]) window[s_adr[7:0]] <= s_dat_w;
  end

  // The unit leaves the bus to others after every eighth word.
  reg pause;
  assign m_cyc = asked != outputs & ~pause;
  wire arrives = m_cyc & m_ack;

  // A word of weights arrives together with the window's. Then they are
  // multiplied, and added up.
  reg [7:0] word;
  wire ends_row = word + 9'd1 == words;
  reg [31:0] x, w;
  reg is_word, is_last;
  reg signed [31:0] sum, total;
  integer lane;
  always @* begin
    total = sum;
    for (lane = 0; lane < 4; lane = lane + 1)
      total = total + $signed(x[8*lane+:8]) * $signed(w[8*lane+:8]);
  end

  always @(posedge clk) begin
    x <= window[word];
    w <= m_dat_r;
    is_word <= arrives & ~rst;
    is_last <= ends_row;
    pause <= arrives & (&m_adr[2:0]);
    if (done != outputs) busy <= busy + 1;
    if (arrives) begin
      m_adr <= m_adr + 1;
      word  <= ends_row ? 0 : word + 1;
      if (ends_row) asked <= asked + 1;
    end
    if (is_word) begin
      sum <= is_last ? 0 : total;
      if (is_last) begin
        sums[done[7:0]] <= total;
        done <= done + 1;
      end
    end
    if (write & s_adr == WEIGHTS) m_adr <= s_dat_w[31:2];
    if (write & s_adr == WORDS) words <= s_dat_w[8:0];
    if (write & s_adr == OUTPUTS) begin
      outputs <= s_dat_w[8:0];
      asked <= 0;
      done <= 0;
    end
    if (rst) begin
      outputs <= 0;
      asked <= 0;
      done <= 0;
      word <= 0;
      sum <= 0;
      busy <= 0;
    end
  end
endmodule
