// Compares the layout of Spike's headers, as this file was compiled, with that
// of the program: the program sets up a hart, and this extension looks at it.
// Ends Spike with 0 if they agree and with 3 if not.

#include <cstdio>
#include <cstdlib>

#include <riscv/disasm.h>
#include <riscv/encoding.h>
#include <riscv/extension.h>
#include <riscv/platform.h>
#include <riscv/processor.h>

namespace {

constexpr int kDiffers = 3;

class layout_t : public extension_t {
  const char *name() const override { return "layout"; }
  std::vector<insn_desc_t> get_instructions(const processor_t &) override {
    return {};
  }
  std::vector<disasm_insn_t *> get_disasms(const processor_t *) override {
    return {};
  }

  // What lies at the beginning of a hart's state, next to its registers, and
  // what lies behind it.
  void reset(processor_t &hart) override {
    const bool agrees =
        hart.get_state()->pc == DEFAULT_RSTVEC && hart.get_xlen() == 64;
    std::puts(agrees ? "layout: agrees" : "layout: differs");
    std::fflush(stdout);
    std::_Exit(agrees ? 0 : kDiffers);
  }
};

REGISTER_EXTENSION(layout, [] { return new layout_t; })

}  // namespace
