#include "runtime_bm/elf/elf_machine.h"

// e_flags: not RVE (0x8). Either float ABI is fine: no kernel takes or returns
// a float.
const bm_elf_machine_t bm_elf_machine_riscv32 = {
    .machine = 243,  // EM_RISCV
    .flags_mask = 0x8,
    .flags = 0,
    .relative_relocation = 3,  // R_RISCV_RELATIVE
};
