// Whether a hart has an extension beyond V of which no register tells: it
// executes such instructions, and lacks the extension if it traps.
#ifndef BOARDS_COMMON_PROBE_H_
#define BOARDS_COMMON_PROBE_H_

#include <stdbool.h>
#include <stdint.h>

#include "runtime_bm/base/isa.h"
#include "runtime_bm/hal/hal.h"

// Floats of 16 bits, in scalar and vector registers: fmv.h.x ft0, zero;
// fadd.h ft0, ft0, ft0; vsetivli zero, 1, e16, m1, ta, ma; vmv.v.i v0, 0;
// vfadd.vv v0, v0, v0. As words, because GCC 12's assembler lacks Zvfh.
#define BM_TRIES_ZVFH  \
  ".word 0xf4000053\n" \
  ".word 0x04007053\n" \
  ".word 0xcc80f057\n" \
  ".word 0x5e003057\n" \
  ".word 0x02001057\n"

// Dot products of four bytes, which assemblers do not know: vdot4a.vv v0, v0,
// v0 on no elements.
#define BM_TRIES_ZVDOT4A8I              \
  ".option push\n"                      \
  ".option arch, +v\n"                  \
  "vsetivli zero, 0, e32, m1, ta, ma\n" \
  ".option pop\n"                       \
  ".word 0xb2002057\n"

// SpacemiT's XSMTVDot: smt.vmadot v0, v0, v0, which assemblers do not know.
// What it computes depends on VLEN; the kernels are for BM_XSMTVDOT_VLEN bits.
#define BM_TRIES_XSMTVDOT              \
  ".option push\n"                     \
  ".option arch, +v\n"                 \
  "vsetvli t0, zero, e8, m1, ta, ma\n" \
  ".option pop\n"                      \
  ".word 0xe200302b\n"
enum { BM_XSMTVDOT_VLEN = 256 };

// bfloat16 in scalar and vector registers: fmv.h.x ft0, zero; fcvt.s.bf16 ft0,
// ft0; vfwcvtbf16.f.f.v v0, v2 on no elements. As words, because GCC 12's
// assembler lacks them.
#define BM_TRIES_ZVFBFMIN               \
  ".word 0xf4000053\n"                  \
  ".word 0x40607053\n"                  \
  ".option push\n"                      \
  ".option arch, +v\n"                  \
  "vsetivli zero, 0, e16, m1, ta, ma\n" \
  ".option pop\n"                       \
  ".word 0x4a269057\n"

// Products of bfloat16: vfwmaccbf16.vv v0, v2, v2 on no elements.
#define BM_TRIES_ZVFBFWMA               \
  ".option push\n"                      \
  ".option arch, +v\n"                  \
  "vsetivli zero, 0, e16, m1, ta, ma\n" \
  ".option pop\n"                       \
  ".word 0xee211057\n"

// Defines a function for executes(), named try_*: instructions that may change
// t0, ft0 and vector registers. Vectors and floats must be on.
#define BM_INSTRUCTIONS(function, instructions)       \
  __attribute__((naked)) static void function(void) { \
    __asm__ volatile(instructions "ret");             \
  }

// Defines executes(), which says whether a hart executes such instructions in a
// mode, "m" or "s", with the bit of its status register that enables
// interrupts. They stay off meanwhile, because they also go where a trap goes:
// to startup's vector, and on to the address in the scratch register.
#define BM_EXECUTES(mode, interrupts)                            \
  static BM_NOINLINE bool executes(void (*instructions)(void)) { \
    uintptr_t has, status, vector, scratch;                      \
    __asm__ volatile("csrrci %1, " mode                          \
                     "status, %4\n"                              \
                     "la %2, bm_trap_vector\n"                   \
                     "csrrw %2, " mode                           \
                     "tvec, %2\n"                                \
                     "la %3, 1f\n"                               \
                     "csrrw %3, " mode                           \
                     "scratch, %3\n"                             \
                     "li %0, 0\n"                                \
                     "jalr %5\n"                                 \
                     "li %0, 1\n"                                \
                     ".balign 4\n"                               \
                     "1: csrw " mode                             \
                     "scratch, %3\n"                             \
                     "csrw " mode                                \
                     "tvec, %2\n"                                \
                     "csrw " mode "status, %1\n"                 \
                     : "=&r"(has), "=&r"(status), "=&r"(vector), \
                       "=&r"(scratch)                            \
                     : "i"(interrupts), "r"(instructions)        \
                     : "ra", "t0", "ft0", "memory");             \
    return has != 0;                                             \
  }

// The longest text that bm_probe_append() is called with by a probe below.
#define BM_PROBED_NAMES "_zfbfmin_zvfbfmin_zvfbfwma_zfh_zvfh_zvdot4a8i_xsmtvdot"

static inline char *bm_probe_append(char *end, const char *text) {
  while (*text != '\0') *end++ = *text++;
  return end;
}

// Defines executes(), and probe(), which adds what a hart with vectors has
// beyond V to its bits and, at `end`, to its name; it returns the end of that.
#define BM_PROBES(mode, interrupts)                                     \
  BM_EXECUTES(mode, interrupts)                                         \
  BM_INSTRUCTIONS(try_zvfbfmin, BM_TRIES_ZVFBFMIN)                      \
  BM_INSTRUCTIONS(try_zvfbfwma, BM_TRIES_ZVFBFWMA)                      \
  BM_INSTRUCTIONS(try_zvfh, BM_TRIES_ZVFH)                              \
  BM_INSTRUCTIONS(try_zvdot4a8i, BM_TRIES_ZVDOT4A8I)                    \
  BM_INSTRUCTIONS(try_xsmtvdot, BM_TRIES_XSMTVDOT)                      \
  static char *probe(bm_hal_cpu_t *cpu, char *end) {                    \
    if (executes(try_zvfbfmin)) {                                       \
      cpu->isa_bits |= BM_ISA_ZVFBFMIN;                                 \
      end = bm_probe_append(end, "_zfbfmin_zvfbfmin");                  \
    }                                                                   \
    if (executes(try_zvfbfwma)) {                                       \
      cpu->isa_bits |= BM_ISA_ZVFBFWMA;                                 \
      end = bm_probe_append(end, "_zvfbfwma");                          \
    }                                                                   \
    if (executes(try_zvfh)) {                                           \
      cpu->isa_bits |= BM_ISA_ZVFH;                                     \
      end = bm_probe_append(end, "_zfh_zvfh");                          \
    }                                                                   \
    if (executes(try_zvdot4a8i)) {                                      \
      cpu->isa_bits |= BM_ISA_ZVDOT4A8I;                                \
      end = bm_probe_append(end, "_zvdot4a8i");                         \
    }                                                                   \
    if (cpu->vlen_bits == BM_XSMTVDOT_VLEN && executes(try_xsmtvdot)) { \
      cpu->isa_bits |= BM_ISA_XSMTVDOT;                                 \
      end = bm_probe_append(end, "_xsmtvdot");                          \
    }                                                                   \
    return end;                                                         \
  }

#endif  // BOARDS_COMMON_PROBE_H_
