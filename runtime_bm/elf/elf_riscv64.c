#include "runtime_bm/elf/elf_machine.h"

// e_flags: double-float ABI (0x4 of the two ABI bits 0x6), not RVE (0x8).
const bm_elf_machine_t bm_elf_machine_riscv64 = {
    .machine = 243,  // EM_RISCV
    .flags_mask = 0xE,
    .flags = 0x4,
    .relative_relocation = 3,  // R_RISCV_RELATIVE
};
