// The divider in gates beside this machine's own, which follows IEEE 754 too.
#include <cfenv>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "Divider.h"
#include "verilated.h"

#pragma STDC FENV_ACCESS ON

namespace {

constexpr int kRandom = 40000;  // operands of each operation, type and rounding
constexpr int kMaxCycles = 64;

struct Rounding {
  int riscv;
  int here;
};
// This machine has no rounding to nearest, ties away from zero.
constexpr Rounding kRoundings[] = {
    {0, FE_TONEAREST}, {1, FE_TOWARDZERO}, {2, FE_DOWNWARD}, {3, FE_UPWARD}};

struct Answer {
  uint64_t bits;
  unsigned flags;
};

class Unit {
 public:
  Unit() {
    clock(0);
    divider_.Rst_RBI = 0;
    clock(1);
    divider_.Rst_RBI = 1;
    cycle();
  }

  Answer ask(bool root, bool is_f32, int rounding, uint64_t a, uint64_t b) {
    divider_.Div_start_SI = !root;
    divider_.Sqrt_start_SI = root;
    divider_.Operand_a_DI = a;
    divider_.Operand_b_DI = b;
    divider_.RM_SI = rounding;
    divider_.Format_sel_SI = is_f32 ? 0 : 1;
    divider_.Kill_SI = 0;
    cycle();
    divider_.Div_start_SI = 0;
    divider_.Sqrt_start_SI = 0;
    for (int i = 0; i < kMaxCycles; ++i) {
      if (divider_.Done_SO) return {divider_.Result_DO, divider_.Fflags_SO};
      cycle();
    }
    fprintf(stderr, "no answer within %d cycles\n", kMaxCycles);
    exit(1);
  }

 private:
  void clock(int level) {
    divider_.Clk_CI = level;
    divider_.eval();
  }
  void cycle() {
    clock(1);
    clock(0);
  }
  Divider divider_;
};

unsigned flags_here() {
  const int raised = fetestexcept(FE_ALL_EXCEPT);
  return (raised & FE_INVALID ? 16u : 0) | (raised & FE_DIVBYZERO ? 8u : 0) |
         (raised & FE_OVERFLOW ? 4u : 0) | (raised & FE_UNDERFLOW ? 2u : 0) |
         (raised & FE_INEXACT ? 1u : 0);
}

template <typename Float, typename Bits>
Answer here(bool root, int rounding, uint64_t a_bits, uint64_t b_bits,
            Bits quiet_nan) {
  const Bits a_own = static_cast<Bits>(a_bits);
  const Bits b_own = static_cast<Bits>(b_bits);
  Float a_value, b_value;
  memcpy(&a_value, &a_own, sizeof a_own);
  memcpy(&b_value, &b_own, sizeof b_own);
  volatile Float a = a_value, b = b_value, result;
  fesetround(rounding);
  feclearexcept(FE_ALL_EXCEPT);
  if (root) {
    result = std::sqrt(a);
  } else {
    result = a / b;
  }
  const unsigned flags = flags_here();
  fesetround(FE_TONEAREST);
  const Float value = result;
  Bits bits;
  memcpy(&bits, &value, sizeof bits);
  // RISC-V has one NaN.
  if (std::isnan(value)) bits = quiet_nan;
  return {bits, flags};
}

// Numbers at which something happens: the type's extremes and what is beside
// them.
uint64_t choose(std::mt19937_64 &random, bool is_f32) {
  const int fraction = is_f32 ? 23 : 52, all = is_f32 ? 32 : 64;
  const uint64_t mask = all == 64 ? ~uint64_t{0} : (uint64_t{1} << all) - 1;
  const uint64_t exponents = (uint64_t{1} << (all - 1 - fraction)) - 1;
  const uint64_t any = random();
  const uint64_t edges[] = {
      0, 1, exponents - 1, exponents, exponents / 2, exponents / 2 + 1};
  uint64_t exponent = any >> fraction & exponents;
  if (random() % 4 == 0) exponent = edges[random() % 6];
  uint64_t bits = any & ((uint64_t{1} << fraction) - 1);
  switch (random() % 8) {
    case 0:
      bits = 0;
      break;
    case 1:
      bits = (uint64_t{1} << fraction) - 1 - random() % 2;
      break;
    case 2:
      bits = uint64_t{1} << random() % fraction;
      break;
    default:
      break;
  }
  const uint64_t sign = random() % 2 << (all - 1);
  return (sign | exponent << fraction | bits) & mask;
}

bool agrees(Unit &unit, std::mt19937_64 &random, bool root, bool is_f32,
            const Rounding &rounding) {
  const uint64_t a = choose(random, is_f32), b = choose(random, is_f32);
  const uint64_t box = is_f32 ? 0xFFFFFFFF00000000 : 0;
  const Answer want =
      is_f32 ? here<float, uint32_t>(root, rounding.here, a, b, 0x7FC00000u)
             : here<double, uint64_t>(root, rounding.here, a, b,
                                      uint64_t{0x7FF8000000000000});
  const Answer got = unit.ask(root, is_f32, rounding.riscv, a | box, b | box);
  if (got.bits == (want.bits | box) && got.flags == want.flags) return true;
  fprintf(stderr,
          "%s %s, rounding %d, of %016" PRIx64 " and %016" PRIx64
          ": %016" PRIx64 " with flags %u, and here %016" PRIx64
          " with flags %u\n",
          is_f32 ? "f32" : "f64", root ? "root" : "quotient", rounding.riscv, a,
          b, got.bits, got.flags, want.bits | box, want.flags);
  return false;
}

}  // namespace

int main() {
  Unit unit;
  std::mt19937_64 random(1);
  int wrong = 0;
  for (const Rounding &rounding : kRoundings) {
    for (int kind = 0; kind < 4; ++kind) {
      for (int i = 0; i < kRandom && wrong < 20; ++i) {
        if (!agrees(unit, random, kind & 1, kind & 2, rounding)) ++wrong;
      }
    }
  }
  return wrong != 0;
}
