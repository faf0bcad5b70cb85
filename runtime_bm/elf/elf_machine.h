// Everything the ELF loader knows about instruction sets: one constant per
// machine, each in its own file.
#ifndef RUNTIME_BM_ELF_ELF_MACHINE_H_
#define RUNTIME_BM_ELF_ELF_MACHINE_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

typedef struct bm_elf_machine_t {
  uint16_t machine;     // e_machine
  uint32_t flags_mask;  // bits of e_flags that must be `flags`
  uint32_t flags;
  // The relocation that stores load address + addend in a word. The compiler's
  // executables have no other kind.
  uint32_t relative_relocation;
} bm_elf_machine_t;

extern const bm_elf_machine_t bm_elf_machine_riscv32;
extern const bm_elf_machine_t bm_elf_machine_riscv64;
extern const bm_elf_machine_t bm_elf_machine_x86_64;

#if defined(__riscv) && __riscv_xlen == 64
#define BM_ELF_MACHINE_NATIVE (&bm_elf_machine_riscv64)
#elif defined(__riscv) && __riscv_xlen == 32
#define BM_ELF_MACHINE_NATIVE (&bm_elf_machine_riscv32)
#elif defined(__x86_64__)
#define BM_ELF_MACHINE_NATIVE (&bm_elf_machine_x86_64)
#else
#error "no bm_elf_machine_t for this target: add elf_<machine>.c"
#endif

BM_EXTERN_C_END

#endif  // RUNTIME_BM_ELF_ELF_MACHINE_H_
