// The part of the HAL that is the same on every RV64 board that starts in
// supervisor mode, where misa and the machine's counters cannot be read.
#include "boards/common/probe.h"
#include "runtime_bm/base/isa.h"
#include "runtime_bm/crt/stack.h"
#include "runtime_bm/hal/hal.h"

// sstatus.VS: startup set it, but it stays zero on a hart without vectors.
#define SSTATUS_VS 0x600

// Reads a register that machine mode may withhold; 0 if it traps.
#define PROBED_READER(function, csr) \
  static uint64_t function(void) {   \
    uint64_t value;                  \
    __asm__ volatile(                \
        "la t0, 1f\n"                \
        "csrrw t0, stvec, t0\n"      \
        "li %0, 0\n"                 \
        "csrr %0, " csr              \
        "\n"                         \
        ".balign 4\n"                \
        "1: csrw stvec, t0\n"        \
        : "=&r"(value)::"t0");       \
    return value;                    \
  }

PROBED_READER(cycle, "cycle")
PROBED_READER(instret, "instret")
// vlenb by number, since the runtime is compiled without the vector extension.
PROBED_READER(vlenb, "0xC22")

// sstatus.SIE is bit 1.
BM_PROBES("s", 2)

bm_hal_cpu_t bm_hal_cpu(void) {
  // This code is compiled for rv64gc, and it is running.
  static char name[sizeof("rv64imafdcv") + sizeof(BM_PROBED_NAMES)];
  char *end = bm_probe_append(name, "rv64imafdc");
  bm_hal_cpu_t cpu = {.isa = name, .isa_bits = BM_ISA_RV64, .vlen_bits = 0};
  uint64_t sstatus;
  __asm__ volatile("csrr %0, sstatus" : "=r"(sstatus));
  if ((sstatus & SSTATUS_VS) != 0) cpu.vlen_bits = (uint32_t)vlenb() * 8;
  if (cpu.vlen_bits != 0) {
    cpu.isa_bits |= BM_ISA_V;
    end = probe(&cpu, bm_probe_append(end, "v"));
  }
  *end = '\0';
  return cpu;
}

uint64_t bm_hal_cycles(void) { return cycle(); }

uint64_t bm_hal_instret(void) { return instret(); }

void bm_hal_code_written(void *memory, size_t size) {
  (void)memory;
  (void)size;
  __asm__ volatile("fence.i" ::: "memory");
}

size_t bm_hal_stack_used(void) { return bm_crt_stack_used(); }
