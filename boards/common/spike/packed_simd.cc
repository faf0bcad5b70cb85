// Those instructions of the packed-SIMD extension P (draft 0.18, RV64) that
// kernels/packed_simd uses. Spike's own rv64gcp has the letter in misa and no
// instruction.

#include <algorithm>
#include <cstdint>

#include <riscv/disasm.h>
#include <riscv/extension.h>
#include <riscv/processor.h>

namespace {

constexpr int kBytes = 8;
constexpr int kHalves = 2;

uint8_t byte_of(reg_t value, int index) {
  return static_cast<uint8_t>(value >> 8 * index);
}

// Each half of rd is increased by four products of signed bytes; it wraps.
reg_t pm4adda_b(reg_t rd, reg_t rs1, reg_t rs2) {
  reg_t result = 0;
  for (int half = 0; half != 2; ++half) {
    uint32_t sum = static_cast<uint32_t>(rd >> 32 * half);
    for (int i = 4 * half; i != 4 * half + 4; ++i) {
      sum += static_cast<int8_t>(byte_of(rs1, i)) *
             static_cast<int8_t>(byte_of(rs2, i));
    }
    result |= static_cast<reg_t>(sum) << 32 * half;
  }
  return result;
}

// Elements of rs1 and rs2 in turn: of their lower or upper halves.
template <int Width, bool Upper>
reg_t zip(reg_t, reg_t rs1, reg_t rs2) {
  reg_t result = 0;
  for (int i = 0; i != kBytes; ++i) {
    const int pair = i / (2 * Width);
    const int index = pair * Width + i % Width + (Upper ? kBytes / 2 : 0);
    const reg_t from = i / Width % 2 == 0 ? rs1 : rs2;
    result |= static_cast<reg_t>(byte_of(from, index)) << 8 * i;
  }
  return result;
}

// Every other element of rs1, then of rs2.
template <int Width>
reg_t unzip(reg_t, reg_t rs1, reg_t rs2) {
  reg_t result = 0;
  for (int i = 0; i != kBytes; ++i) {
    const int index = i / Width % (kBytes / 2 / Width) * 2 * Width + i % Width;
    result |= static_cast<reg_t>(byte_of(i < kBytes / 2 ? rs1 : rs2, index))
              << 8 * i;
  }
  return result;
}

// Of each pair of elements, one of rs1 (the upper one if First is 1), then one
// of rs2.
template <int Width, int First, int Second>
reg_t pair(reg_t, reg_t rs1, reg_t rs2) {
  reg_t result = 0;
  for (int i = 0; i != kBytes; ++i) {
    const int start = i / (2 * Width) * 2 * Width + i % Width;
    const bool is_first = i / Width % 2 == 0;
    const int index = start + (is_first ? First : Second) * Width;
    result |= static_cast<reg_t>(byte_of(is_first ? rs1 : rs2, index)) << 8 * i;
  }
  return result;
}

int64_t saturated(int64_t value) {
  return std::min<int64_t>(std::max<int64_t>(value, INT32_MIN), INT32_MAX);
}

// An operation on both pairs of signed words.
template <int64_t Operation(int64_t, int64_t)>
reg_t words(reg_t, reg_t rs1, reg_t rs2) {
  reg_t result = 0;
  for (int i = 0; i != kHalves; ++i) {
    const auto a = static_cast<int32_t>(rs1 >> 32 * i);
    const auto b = static_cast<int32_t>(rs2 >> 32 * i);
    result |= static_cast<reg_t>(static_cast<uint32_t>(Operation(a, b)))
              << 32 * i;
  }
  return result;
}

int64_t sum(int64_t a, int64_t b) { return a + b; }
int64_t saturated_sum(int64_t a, int64_t b) { return saturated(a + b); }
int64_t smaller(int64_t a, int64_t b) { return std::min(a, b); }
int64_t larger(int64_t a, int64_t b) { return std::max(a, b); }
int64_t fraction(int64_t a, int64_t b) {
  return saturated((a * b + (INT64_C(1) << 30)) >> 31);
}

// Shifts both words by the signed last byte of rs2: to the left, or to the
// right, to nearest.
reg_t psshar_ws(reg_t, reg_t rs1, reg_t rs2) {
  const int amount = static_cast<int8_t>(rs2);
  reg_t result = 0;
  for (int i = 0; i != kHalves; ++i) {
    int64_t value = static_cast<int32_t>(rs1 >> 32 * i);
    if (amount >= 0) {
      // Further than 32 bits, the same is left: a limit, or zero.
      value = saturated(value * (INT64_C(1) << std::min(amount, 32)));
    } else {
      value = ((value >> std::min(-amount - 1, 32)) + 1) >> 1;
    }
    result |= static_cast<reg_t>(static_cast<uint32_t>(value)) << 32 * i;
  }
  return result;
}

template <int Amount>
reg_t psrai_w(reg_t, reg_t rs1, reg_t) {
  const auto shifted = [rs1](int half) {
    return static_cast<reg_t>(static_cast<uint32_t>(
        static_cast<int32_t>(rs1 >> 32 * half) >> Amount));
  };
  return shifted(1) << 32 | shifted(0);
}

template <reg_t Compute(reg_t, reg_t, reg_t)>
reg_t execute(processor_t *hart, insn_t instruction, reg_t pc) {
  auto &registers = hart->get_state()->XPR;
  registers.write(instruction.rd(), Compute(registers[instruction.rd()],
                                            registers[instruction.rs1()],
                                            registers[instruction.rs2()]));
  return pc + 4;
}

// An instruction with three registers, for RV64 only.
template <reg_t Compute(reg_t, reg_t, reg_t)>
insn_desc_t described(insn_bits_t match, insn_bits_t mask = 0xfe00707f) {
  const insn_func_t no = illegal_instruction;
  const insn_func_t yes = execute<Compute>;
  return {match, mask, no, yes, no, yes, no, yes, no, yes};
}

class packed_simd_t : public extension_t {
  const char *name() const override { return "packed_simd"; }
  std::vector<insn_desc_t> get_instructions(const processor_t &) override {
    return {
        described<pm4adda_b>(0x8c00503b),
        described<zip<1, false>>(0xf000203b),
        described<zip<1, true>>(0xf400203b),
        described<zip<2, false>>(0xf200203b),
        described<zip<2, true>>(0xf600203b),
        described<unzip<1>>(0xe000203b),
        described<unzip<2>>(0xe200203b),
        described<pair<1, 0, 0>>(0x8000403b),
        described<pair<2, 0, 0>>(0x8200403b),
        described<pair<4, 0, 0>>(0x08004033),
        described<pair<4, 0, 1>>(0x9600403b),
        described<pair<4, 1, 1>>(0xb600403b),
        described<words<sum>>(0x8200003b),
        described<words<saturated_sum>>(0x9200003b),
        described<words<smaller>>(0xe200603b),
        described<words<larger>>(0xf200603b),
        described<words<fraction>>(0xd600703b),
        described<psshar_ws>(0xfa00201b),
        // The amount is where rs2 would be.
        described<psrai_w<31>>(0xc3f0401b, 0xfff0707f),
    };
  }
  std::vector<disasm_insn_t *> get_disasms(const processor_t *) override {
    return {};
  }
};

REGISTER_EXTENSION(packed_simd, [] { return new packed_simd_t; })

}  // namespace
