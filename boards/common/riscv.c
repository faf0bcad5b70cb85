// The part of the HAL that is the same on every RISC-V board.
#include <stdbool.h>

#include "boards/common/csr.h"
#include "boards/common/device_tree.h"
#include "boards/common/probe.h"
#include "runtime_bm/base/isa.h"
#include "runtime_bm/crt/stack.h"
#include "runtime_bm/hal/hal.h"

// What misa should say. The register of some designs says something else.
#ifndef BM_MISA
#define BM_MISA bm_csr_misa()
#endif

// misa has one bit per extension letter; this is their order in an ISA string.
static const char kLetters[] = "imafdqcbpvh";

#if __riscv_xlen == 64
#define XLEN_NAME "rv64"
#define XLEN_BIT BM_ISA_RV64
#else
#define XLEN_NAME "rv32"
#define XLEN_BIT BM_ISA_RV32
#endif

// mstatus.MIE is bit 3.
BM_PROBES("m", 8)
// Startup turned vectors on in mstatus. A hart without them may keep that bit.
BM_INSTRUCTIONS(try_vlenb, "csrr t0, 0xC22\n")

static bool has(uintptr_t misa, char letter) {
  return (misa >> (letter - 'a')) & 1;
}

bm_hal_cpu_t bm_hal_cpu(void) {
  static char
      name[sizeof(XLEN_NAME) + sizeof(kLetters) + sizeof(BM_PROBED_NAMES)];
  const uintptr_t misa = BM_MISA;
  char *end = bm_probe_append(name, XLEN_NAME);
  for (const char *c = kLetters; *c != '\0'; ++c) {
    if (has(misa, *c)) *end++ = *c;
  }
  bm_hal_cpu_t cpu = {
      .isa = name,
      .isa_bits = XLEN_BIT,
      .board_timebase_hz = bm_board_facts.timebase_hz,
  };
  if (bm_board_facts.boots_with_device_tree != 0) {
    cpu.timebase_hz = bm_device_tree_timebase(bm_boot_argument);
  }
  if (has(misa, 'p')) cpu.isa_bits |= BM_ISA_P;
  if (has(misa, 'v')) cpu.isa_bits |= BM_ISA_V;
  // misa has no bit for vectors smaller than V.
  if (executes(try_vlenb)) {
    if (has(misa, 'f')) cpu.isa_bits |= BM_ISA_ZVE32F;
    cpu.vlen_bits = (uint32_t)bm_csr_vlenb() * 8;
    end = probe(&cpu, end);
  }
  *end = '\0';
  return cpu;
}

void bm_hal_code_written(void *memory, size_t size) {
  (void)memory;
  (void)size;
  __asm__ volatile("fence.i" ::: "memory");
}

size_t bm_hal_stack_used(void) { return bm_crt_stack_used(); }
