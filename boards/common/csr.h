// Control and status registers of RISC-V, one function each.
#ifndef BOARDS_COMMON_CSR_H_
#define BOARDS_COMMON_CSR_H_

#include <stdint.h>

#define BM_CSR_READER(function, csr)                 \
  static inline uint64_t function(void) {            \
    uint64_t value;                                  \
    __asm__ volatile("csrr %0, " csr : "=r"(value)); \
    return value;                                    \
  }

BM_CSR_READER(bm_csr_misa, "misa")
BM_CSR_READER(bm_csr_mcycle, "mcycle")
BM_CSR_READER(bm_csr_minstret, "minstret")
// vlenb by number: the runtime is compiled without the vector extension. Traps
// on a hart without vectors.
BM_CSR_READER(bm_csr_vlenb, "0xC22")

#undef BM_CSR_READER

#endif  // BOARDS_COMMON_CSR_H_
