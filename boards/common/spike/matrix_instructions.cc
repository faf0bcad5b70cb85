// The instruction of XSMTVDot that kernels/matrix_instructions uses, after
// SpacemiT's specification of its integer matrix extension (v1.0, 20240422).

#include <array>
#include <cstdint>

#include <riscv/disasm.h>
#include <riscv/extension.h>
#include <riscv/processor.h>
#include <riscv/trap.h>

namespace {

// The unit for 256 bits of bytes: 4x8 times 8x4.
constexpr reg_t kVectorBits = 256;
constexpr int kRows = 4, kColumns = 4, kTerms = 8;

// Adds to the rows of vd and vd + 1 the products of the rows of vs1 with the
// columns of vs2, all of signed bytes; it wraps.
reg_t vmadot(processor_t *hart, insn_t instruction, reg_t pc) {
  vectorUnit_t &unit = hart->VU;
  auto *state = hart->get_state();
  if (!hart->any_vector_extensions() || !state->sstatus->enabled(SSTATUS_VS) ||
      unit.vill || unit.VLEN != kVectorBits || unit.vsew != 8 ||
      unit.vflmul != 1 || unit.vl->read() * unit.vsew != kVectorBits ||
      instruction.rd() % 2 != 0) {
    throw trap_illegal_instruction(instruction.bits());
  }
  std::array<uint32_t, kRows * kColumns> sums{};
  for (int i = 0; i != kRows; ++i) {
    for (int j = 0; j != kColumns; ++j) {
      uint32_t &sum = sums[i * kColumns + j];
      sum = unit.elt<uint32_t>(instruction.rd(), i * kColumns + j);
      for (int k = 0; k != kTerms; ++k) {
        sum += unit.elt<int8_t>(instruction.rs1(), i * kTerms + k) *
               unit.elt<int8_t>(instruction.rs2(), j * kTerms + k);
      }
    }
  }
  // The last, because vd may be a source too.
  for (reg_t i = 0; i != sums.size(); ++i) {
    unit.elt<uint32_t>(instruction.rd(), i, true) = sums[i];
  }
  state->sstatus->dirty(SSTATUS_VS);
  return pc + 4;
}

class matrix_instructions_t : public extension_t {
  const char *name() const override { return "matrix_instructions"; }
  std::vector<insn_desc_t> get_instructions(const processor_t &) override {
    const insn_func_t no = ::illegal_instruction;
    return {{0xe200302b, 0xfe00707f, no, vmadot, no, vmadot, no, vmadot, no,
             vmadot}};
  }
  std::vector<disasm_insn_t *> get_disasms(const processor_t *) override {
    return {};
  }
};

REGISTER_EXTENSION(matrix_instructions,
                   [] { return new matrix_instructions_t; })

}  // namespace
