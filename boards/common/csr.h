// RISC-V control and status registers, one function each, for any XLEN.
#ifndef BOARDS_COMMON_CSR_H_
#define BOARDS_COMMON_CSR_H_

#include <stdint.h>

#define BM_CSR_READER(function, csr)                 \
  static inline uintptr_t function(void) {           \
    uintptr_t value;                                 \
    __asm__ volatile("csrr %0, " csr : "=r"(value)); \
    return value;                                    \
  }

// A 64-bit counter. If XLEN is 32 it is two registers, which are read again
// if a carry happened in between.
#if __riscv_xlen == 64
#define BM_CSR_COUNTER(function, csr) BM_CSR_READER(function, csr)
#else
#define BM_CSR_COUNTER(function, csr)     \
  BM_CSR_READER(function##_low, csr)      \
  BM_CSR_READER(function##_high, csr "h") \
  static inline uint64_t function(void) { \
    uint32_t high, low;                   \
    do {                                  \
      high = function##_high();           \
      low = function##_low();             \
    } while (high != function##_high());  \
    return (uint64_t)high << 32 | low;    \
  }
#endif

BM_CSR_READER(bm_csr_misa, "misa")
BM_CSR_COUNTER(bm_csr_mcycle, "mcycle")
BM_CSR_COUNTER(bm_csr_minstret, "minstret")
// vlenb by number, since the runtime is compiled without the vector extension.
// Traps on a hart without vectors.
BM_CSR_READER(bm_csr_vlenb, "0xC22")

#undef BM_CSR_COUNTER
#undef BM_CSR_READER

#endif  // BOARDS_COMMON_CSR_H_
