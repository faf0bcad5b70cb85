#include "runtime_bm/elf/elf_machine.h"

const bm_elf_machine_t bm_elf_machine_x86_64 = {
    .machine = 62,  // EM_X86_64
    .flags_mask = 0,
    .flags = 0,
    .relative_relocation = 8,  // R_X86_64_RELATIVE
};
