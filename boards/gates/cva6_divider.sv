// Division and square root of f32 and f64 for CVA6's floating-point unit, whose
// own the design's package lacks. It has the same name and ports, and finds two
// bits a cycle. Results and flags are as IEEE 754 and the
// RISC-V manual (tininess after rounding) say; divider_test compares them with
// the build machine's.
//
// Fflags_SO: invalid, division by zero, overflow, underflow, inexact.
package defs_div_sqrt_mvp;
endpackage

module div_sqrt_top_mvp (
    input  logic        Clk_CI,
    input  logic        Rst_RBI,
    input  logic        Div_start_SI,
    input  logic        Sqrt_start_SI,
    input  logic [63:0] Operand_a_DI,
    input  logic [63:0] Operand_b_DI,
    input  logic [2:0]  RM_SI,
    input  logic [5:0]  Precision_ctl_SI,
    input  logic [1:0]  Format_sel_SI,
    input  logic        Kill_SI,
    output logic [63:0] Result_DO,
    output logic [4:0]  Fflags_SO,
    output logic        Ready_SO,
    output logic        Done_SO
);

  localparam logic [4:0] Invalid = 5'b10000;
  localparam logic [4:0] DivideByZero = 5'b01000;
  localparam logic [1:0] F32 = 2'b00;

  typedef enum logic [2:0] {
    Nearest = 3'd0,
    TowardsZero = 3'd1,
    Down = 3'd2,
    Up = 3'd3,
    NearestAway = 3'd4
  } rounding_t;

  // A number apart: +-1.fraction * 2^exponent, normalized.
  typedef struct packed {
    logic               sign;
    logic signed [12:0] exponent;
    logic [52:0]        significand;  // its highest bit is the one before the point
    logic               is_zero;
    logic               is_infinity;
    logic               is_nan;
    logic               is_signaling;
  } number_t;

  function automatic number_t unpack(input logic [63:0] bits, input logic is_f32);
    number_t n;
    logic [10:0] exponent;
    logic [51:0] fraction;
    logic is_largest;
    logic [5:0] zeros;
    n.sign     = is_f32 ? bits[31] : bits[63];
    exponent   = is_f32 ? 11'(bits[30:23]) : bits[62:52];
    fraction   = is_f32 ? {bits[22:0], 29'd0} : bits[51:0];
    is_largest = is_f32 ? exponent == 11'd255 : exponent == 11'd2047;
    n.is_zero      = exponent == 0 && fraction == 0;
    n.is_infinity  = is_largest && fraction == 0;
    n.is_nan       = is_largest && fraction != 0;
    n.is_signaling = n.is_nan && !fraction[51];
    n.significand  = {exponent != 0, fraction};
    n.exponent     = 13'(exponent) - (is_f32 ? 13'sd127 : 13'sd1023);
    if (exponent == 0) begin
      zeros = 0;
      for (int i = 0; i < 53; i++) if (n.significand[i]) zeros = 6'(52 - i);
      n.significand = n.significand << zeros;
      n.exponent    = n.exponent + 13'sd1 - 13'(zeros);
    end
    return n;
  endfunction

  function automatic logic [63:0] pack(input logic is_f32, input logic sign, input logic [10:0] exponent,
                                       input logic [51:0] fraction);
    return is_f32 ? {32'hFFFFFFFF, sign, exponent[7:0], fraction[51:29]} : {sign, exponent, fraction};
  endfunction

  enum logic [1:0] {Idle, Working, Done} state;

  logic is_sqrt, is_f32, sign;
  rounding_t rounding;
  logic signed [12:0] exponent;  // of the result, whose first bit is the one before the point
  logic [5:0] left;              // steps of two bits
  logic [55:0] result;           // precision + 3 bits at the end, the highest of them one
  logic [57:0] remainder;
  logic [52:0] divisor;
  logic [111:0] radicand;
  logic [63:0] special;
  logic [4:0] special_flags;
  logic is_special;

  // What starts.
  logic start, from_f32;
  number_t a, b;
  assign start    = (Div_start_SI || Sqrt_start_SI) && Ready_SO && !Kill_SI;
  assign from_f32 = Format_sel_SI == F32;
  assign a = unpack(Operand_a_DI, from_f32);
  assign b = unpack(Operand_b_DI, from_f32);

  // Results that need no work.
  logic [63:0] quiet_nan, infinity, zero;
  logic [10:0] largest;
  logic signs;
  assign largest   = from_f32 ? 11'd255 : 11'd2047;
  assign signs     = Sqrt_start_SI ? a.sign : a.sign ^ b.sign;
  assign quiet_nan = pack(from_f32, 1'b0, largest, {1'b1, 51'd0});
  assign infinity  = pack(from_f32, signs, largest, 52'd0);
  assign zero      = pack(from_f32, signs, 11'd0, 52'd0);

  // Two steps of the recurrences: of each, one more bit of the result.
  function automatic logic [114:0] divide(input logic [57:0] rest, input logic [55:0] digits, input logic [52:0] by);
    logic fits;
    fits = rest >= 58'(by);
    return {1'b0, (rest - (fits ? 58'(by) : 58'd0)) << 1, digits[54:0], fits};
  endfunction

  function automatic logic [114:0] root(input logic [57:0] rest, input logic [55:0] digits, input logic [1:0] next);
    logic [57:0] longer, trial;
    logic fits;
    longer = {rest[55:0], next};
    trial  = {digits, 2'b01};
    fits   = longer >= trial;
    return {1'b0, longer - (fits ? trial : 58'd0), digits[54:0], fits};
  endfunction

  logic [57:0] rest_1, rest_2;
  logic [55:0] digits_1, digits_2;
  logic unused_1, unused_2;
  always_comb begin
    if (is_sqrt) begin
      {unused_1, rest_1, digits_1} = root(remainder, result, radicand[111:110]);
      {unused_2, rest_2, digits_2} = root(rest_1, digits_1, radicand[109:108]);
    end else begin
      {unused_1, rest_1, digits_1} = divide(remainder, result, divisor);
      {unused_2, rest_2, digits_2} = divide(rest_1, digits_1, divisor);
    end
  end

  always_ff @(posedge Clk_CI or negedge Rst_RBI) begin
    if (!Rst_RBI) begin
      state <= Idle;
    end else if (Kill_SI) begin
      state <= Idle;
    end else if (start) begin
      state         <= Working;
      is_sqrt       <= Sqrt_start_SI;
      is_f32        <= from_f32;
      rounding      <= rounding_t'(RM_SI);
      sign          <= signs;
      result        <= 0;
      // 26 or 56 bits: a quotient or a root has 24 or 53, and two, or three, tell how to round it.
      left          <= from_f32 ? 6'd13 : 6'd28;
      divisor       <= b.significand;
      is_special    <= 1'b1;
      special_flags <= 0;
      special       <= quiet_nan;
      if (Sqrt_start_SI) begin
        remainder <= 0;
        // An even exponent, and one or two bits before the point.
        radicand  <= a.exponent[0] ? {a.significand, 59'd0} : {1'b0, a.significand, 58'd0};
        exponent  <= a.exponent >>> 1;
        if (a.is_nan) special_flags <= a.is_signaling ? Invalid : 0;
        else if (a.is_zero) special <= zero;
        else if (a.sign) special_flags <= Invalid;
        else if (a.is_infinity) special <= infinity;
        else is_special <= 1'b0;
      end else begin
        // The quotient's first bit is one.
        if (a.significand < b.significand) begin
          remainder <= {4'd0, a.significand, 1'b0};
          exponent  <= a.exponent - b.exponent - 13'sd1;
        end else begin
          remainder <= {5'd0, a.significand};
          exponent  <= a.exponent - b.exponent;
        end
        if (a.is_nan || b.is_nan) special_flags <= a.is_signaling || b.is_signaling ? Invalid : 0;
        else if (a.is_infinity && b.is_infinity || a.is_zero && b.is_zero) special_flags <= Invalid;
        else if (a.is_infinity) special <= infinity;
        else if (b.is_infinity || a.is_zero) special <= zero;
        else if (b.is_zero) begin
          special       <= infinity;
          special_flags <= DivideByZero;
        end else is_special <= 1'b0;
      end
    end else if (state == Working) begin
      remainder <= rest_2;
      result    <= digits_2;
      radicand  <= radicand << 4;
      left      <= left - 6'd1;
      if (left == 6'd1 || is_special) state <= Done;
    end else begin
      state <= Idle;
    end
  end

  // Rounds `result`, which has its first bit at 25 or 55.
  logic signed [12:0] biased, too_small;
  logic [55:0] aligned, shifted, lost;
  logic [52:0] kept, kept_unbounded;
  logic [53:0] rounded, rounded_unbounded;
  logic sticky, is_small, is_tiny, inexact, overflow, rounds_to_infinity;
  logic [10:0] exponent_bits;
  logic [51:0] fraction;

  function automatic logic increments(input rounding_t mode, input logic negative, input logic odd, input logic half,
                                      input logic more);
    case (mode)
      Nearest:     return half && (odd || more);
      Down:        return negative && (half || more);
      Up:          return !negative && (half || more);
      NearestAway: return half;
      default:     return 1'b0;
    endcase
  endfunction

  logic half, more, half_unbounded, more_unbounded;
  always_comb begin
    biased    = exponent + (is_f32 ? 13'sd127 : 13'sd1023);
    sticky    = remainder != 0;
    aligned   = is_f32 ? result << 30 : result;
    // Below the smallest normal number, a result has fewer bits.
    is_small  = biased < 13'sd1;
    too_small = is_small ? 13'sd1 - biased : 13'sd0;
    if (too_small > 13'sd56) too_small = 13'sd56;
    shifted = aligned >> too_small;
    lost    = aligned & ~(~56'd0 << too_small);

    // Bits 55 to 3 are the result of f64; those of f32 end at bit 32.
    kept    = is_f32 ? 53'(shifted[55:32]) : shifted[55:3];
    half    = is_f32 ? shifted[31] : shifted[2];
    more    = (is_f32 ? shifted[30:0] != 0 : shifted[1:0] != 0) || lost != 0 || sticky;
    rounded = 54'(kept) + 54'(increments(rounding, sign, kept[0], half, more));

    // As if exponents had no end.
    kept_unbounded    = is_f32 ? 53'(aligned[55:32]) : aligned[55:3];
    half_unbounded    = is_f32 ? aligned[31] : aligned[2];
    more_unbounded    = (is_f32 ? aligned[30:0] != 0 : aligned[1:0] != 0) || sticky;
    rounded_unbounded = 54'(kept_unbounded) +
        54'(increments(rounding, sign, kept_unbounded[0], half_unbounded, more_unbounded));
    is_tiny = is_small && !(biased == 0 && (is_f32 ? rounded_unbounded[24] : rounded_unbounded[53]));

    inexact = half || more;
    // A carry out of the fraction is the next exponent, also from the largest subnormal number.
    if (is_small) exponent_bits = 11'(is_f32 ? rounded[23] : rounded[52]);
    else exponent_bits = 11'(biased) + 11'(is_f32 ? rounded[24] : rounded[53]);
    fraction = is_f32 ? {rounded[22:0], 29'd0} : rounded[51:0];
    overflow = !is_small && (biased + 13'(is_f32 ? rounded[24] : rounded[53])) >= (is_f32 ? 13'sd255 : 13'sd2047);
    rounds_to_infinity = rounding == Nearest || rounding == NearestAway || (rounding == Up && !sign) ||
        (rounding == Down && sign);
    if (is_special) begin
      Result_DO = special;
      Fflags_SO = special_flags;
    end else if (overflow) begin
      Result_DO = rounds_to_infinity ? pack(is_f32, sign, 11'd2047, 52'd0)
                                     : pack(is_f32, sign, 11'd2046, ~52'd0);
      Fflags_SO = 5'b00101;
    end else begin
      Result_DO = pack(is_f32, sign, exponent_bits, fraction);
      Fflags_SO = {3'b000, is_tiny && inexact, inexact};
    end
  end

  assign Ready_SO = state == Idle || state == Done;
  assign Done_SO  = state == Done;

endmodule
