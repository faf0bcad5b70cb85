// The part of the HAL that is the same on every RISC-V board.
#include <stdbool.h>

#include "boards/common/csr.h"
#include "boards/common/device_tree.h"
#include "runtime_bm/base/isa.h"
#include "runtime_bm/crt/stack.h"
#include "runtime_bm/hal/hal.h"

// misa has one bit per extension letter; this is their order in an ISA string.
static const char kLetters[] = "imafdqcbpvh";

#if __riscv_xlen == 64
#define XLEN_NAME "rv64"
#define XLEN_BIT BM_ISA_RV64
#else
#define XLEN_NAME "rv32"
#define XLEN_BIT BM_ISA_RV32
#endif

// mstatus.VS: startup set it, but it stays zero on a hart without vectors.
#define MSTATUS_VS 0x600

static bool has(uintptr_t misa, char letter) {
  return (misa >> (letter - 'a')) & 1;
}

// Whether a hart with vectors has Zvqdotq, of which no register tells: vqdot.vv
// on no elements traps if not. Instructions by number, as the runtime is
// compiled without vectors.
static bool has_zvqdotq(void) {
  uintptr_t found;
  __asm__ volatile(
      "la t0, 1f\n"
      "csrrw t0, mtvec, t0\n"
      "li %0, 0\n"
      ".word 0xcd007057\n"  // vsetivli zero, 0, e32, m1, ta, ma
      ".word 0xb2002057\n"  // vqdot.vv v0, v0, v0
      "li %0, 1\n"
      ".balign 4\n"
      "1: csrw mtvec, t0\n"
      : "=&r"(found)::"t0");
  return found != 0;
}

bm_hal_cpu_t bm_hal_cpu(void) {
  static const char kZvqdotq[] = "_zvqdotq";
  static char name[4 + sizeof(kLetters) + sizeof(kZvqdotq)];
  const uintptr_t misa = bm_csr_misa();
  char *end = name;
  for (const char *c = XLEN_NAME; *c != '\0'; ++c) *end++ = *c;
  for (const char *c = kLetters; *c != '\0'; ++c) {
    if (has(misa, *c)) *end++ = *c;
  }
  const bool zvqdotq = has(misa, 'v') && has_zvqdotq();
  for (const char *c = kZvqdotq; zvqdotq && *c != '\0'; ++c) *end++ = *c;
  *end = '\0';
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
  if (zvqdotq) cpu.isa_bits |= BM_ISA_ZVQDOTQ;
  // misa has no bit for vectors smaller than V.
  if ((bm_csr_mstatus() & MSTATUS_VS) != 0) {
    if (has(misa, 'f')) cpu.isa_bits |= BM_ISA_ZVE32F;
    cpu.vlen_bits = (uint32_t)bm_csr_vlenb() * 8;
  }
  return cpu;
}

void bm_hal_code_written(void *memory, size_t size) {
  (void)memory;
  (void)size;
  __asm__ volatile("fence.i" ::: "memory");
}

size_t bm_hal_stack_used(void) { return bm_crt_stack_used(); }
