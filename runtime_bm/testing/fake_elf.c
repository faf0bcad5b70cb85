#include "runtime_bm/testing/fake_elf.h"

#include "runtime_bm/abi/executable_library.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/elf/elf_types.h"

// Addresses in the loaded image.
#define CODE_ADDRESS(offset) ((offset) + FAKE_ELF_CODE_SHIFT)
#define DATA_ADDRESS(offset) ((offset) + FAKE_ELF_DATA_SHIFT)

static void put(uint8_t *file, uint32_t offset, const void *data, size_t size) {
  memcpy(file + offset, data, size);
}

static void put_headers(uint8_t *file, const bm_elf_machine_t *machine) {
  const bm_elf_header_t header = {
      .ident = {0x7F, 'E', 'L', 'F', BM_ELF_CLASS, 1, 1},
      .type = BM_ELF_TYPE_DYN,
      .machine = machine->machine,
      .version = 1,
      .program_offset = FAKE_ELF_PROGRAMS,
      .flags = machine->flags,
      .header_bytes = sizeof(bm_elf_header_t),
      .program_entry_bytes = sizeof(bm_elf_program_t),
      .program_count = FAKE_ELF_PROGRAM_COUNT,
  };
  const uint32_t dynamic_bytes =
      FAKE_ELF_DYNAMIC_COUNT * sizeof(bm_elf_dynamic_t);
  const bm_elf_program_t programs[FAKE_ELF_PROGRAM_COUNT] = {
      {.type = BM_ELF_PROGRAM_LOAD,
       .flags = 4,
       .file_bytes = FAKE_ELF_CODE,
       .memory_bytes = FAKE_ELF_CODE,
       .alignment = 0x1000},
      {.type = BM_ELF_PROGRAM_LOAD,
       .flags = 5,
       .offset = FAKE_ELF_CODE,
       .vaddr = CODE_ADDRESS(FAKE_ELF_CODE),
       .file_bytes = FAKE_ELF_DATA - FAKE_ELF_CODE,
       .memory_bytes = FAKE_ELF_DATA - FAKE_ELF_CODE,
       .alignment = 0x1000},
      {.type = BM_ELF_PROGRAM_LOAD,
       .flags = 6,
       .offset = FAKE_ELF_DATA,
       .vaddr = DATA_ADDRESS(FAKE_ELF_DATA),
       .file_bytes = FAKE_ELF_BYTES - FAKE_ELF_DATA,
       .memory_bytes = FAKE_ELF_BYTES - FAKE_ELF_DATA + FAKE_ELF_ZERO_BYTES,
       .alignment = 0x1000},
      {.type = BM_ELF_PROGRAM_DYNAMIC,
       .flags = 6,
       .offset = FAKE_ELF_DYNAMIC,
       .vaddr = DATA_ADDRESS(FAKE_ELF_DYNAMIC),
       .file_bytes = dynamic_bytes,
       .memory_bytes = dynamic_bytes,
       .alignment = 8},
  };
  put(file, FAKE_ELF_HEADER, &header, sizeof(header));
  put(file, FAKE_ELF_PROGRAMS, programs, sizeof(programs));
}

static void put_tables(uint8_t *file, const bm_elf_machine_t *machine) {
  static const char kStrings[] = "\0" FAKE_ELF_SYMBOL;
  static const uint32_t kHash[] = {1, FAKE_ELF_SYMBOL_COUNT, 1, 0, 0};
  const bm_elf_symbol_t symbols[FAKE_ELF_SYMBOL_COUNT] = {
      {0},
      {.name = 1,
       .info = 1 << 4 | BM_ELF_SYMBOL_TYPE_FUNCTION,
       .section = 1,
       .value = CODE_ADDRESS(FAKE_ELF_CODE)},
  };
  const struct {
    uint32_t where;
    int32_t what;
  } relocations[FAKE_ELF_RELA_COUNT] = {
      {FAKE_ELF_LIBRARY + offsetof(bm_abi_library_t, header),
       DATA_ADDRESS(FAKE_ELF_LIBRARY_HEADER)},
      {FAKE_ELF_LIBRARY + offsetof(bm_abi_library_t, exports.functions),
       DATA_ADDRESS(FAKE_ELF_FUNCTIONS)},
      {FAKE_ELF_LIBRARY + offsetof(bm_abi_library_t, exports.attrs),
       FAKE_ELF_ATTRS},
      {FAKE_ELF_LIBRARY + offsetof(bm_abi_library_t, exports.names),
       DATA_ADDRESS(FAKE_ELF_NAMES)},
      {FAKE_ELF_LIBRARY_HEADER + offsetof(bm_abi_library_header_t, name),
       FAKE_ELF_LIBRARY_NAME},
      {FAKE_ELF_FUNCTIONS, CODE_ADDRESS(FAKE_ELF_KERNEL)},
      {FAKE_ELF_NAMES, FAKE_ELF_EXPORT_NAME},
  };
  for (uint32_t i = 0; i < FAKE_ELF_RELA_COUNT; ++i) {
    const bm_elf_rela_t rela = {.offset = DATA_ADDRESS(relocations[i].where),
                                .info = machine->relative_relocation,
                                .addend = relocations[i].what};
    put(file, FAKE_ELF_RELA + i * (uint32_t)sizeof(rela), &rela, sizeof(rela));
  }
  const bm_elf_dynamic_t dynamic[FAKE_ELF_DYNAMIC_COUNT] = {
      {BM_ELF_DYNAMIC_RELA, FAKE_ELF_RELA},
      {BM_ELF_DYNAMIC_RELA_BYTES, FAKE_ELF_RELA_COUNT * sizeof(bm_elf_rela_t)},
      {BM_ELF_DYNAMIC_SYMBOLS, FAKE_ELF_SYMBOLS},
      {BM_ELF_DYNAMIC_STRINGS, FAKE_ELF_STRINGS},
      {BM_ELF_DYNAMIC_STRING_BYTES, sizeof(kStrings)},
      {BM_ELF_DYNAMIC_HASH, FAKE_ELF_HASH},
      {0x6FFFFFFB, 1},  // FLAGS_1, which a loader may ignore
      {BM_ELF_DYNAMIC_NULL, 0},
  };
  put(file, FAKE_ELF_SYMBOLS, symbols, sizeof(symbols));
  put(file, FAKE_ELF_HASH, kHash, sizeof(kHash));
  put(file, FAKE_ELF_STRINGS, kStrings, sizeof(kStrings));
  put(file, FAKE_ELF_DYNAMIC, dynamic, sizeof(dynamic));
}

static void put_library(uint8_t *file) {
  const bm_abi_dispatch_attrs_t attrs = {.binding_count = 1};
  const bm_abi_library_header_t header = {.version = BM_ABI_LIBRARY_VERSION};
  const bm_abi_library_t library = {.exports = {.count = 1}};
  put(file, FAKE_ELF_LIBRARY_NAME, "fake_elf", 9);
  put(file, FAKE_ELF_EXPORT_NAME, "fake_answer", 12);
  put(file, FAKE_ELF_ATTRS, &attrs, sizeof(attrs));
  put(file, FAKE_ELF_LIBRARY_HEADER, &header, sizeof(header));
  put(file, FAKE_ELF_LIBRARY, &library, sizeof(library));
}

// The query returns the library's address, computed relative to the code.
// The kernel: bindings[0][0] = FAKE_ELF_ANSWER; return 0.
static void put_riscv_code(uint8_t *file, const bm_elf_machine_t *machine,
                           int32_t distance) {
  const uint32_t upper = ((uint32_t)distance + 0x800) & 0xFFFFF000;
  const uint32_t lower = (uint32_t)distance - upper;
  const uint32_t query[] = {
      0x00000517 | upper,        // auipc a0, upper
      0x00050513 | lower << 20,  // addi a0, a0, lower
      0x00008067,                // ret
  };
  // A load is as wide as a pointer.
  const uint32_t load = machine == &bm_elf_machine_riscv64 ? 1 << 12 : 0;
  const uint32_t pointers = offsetof(bm_abi_dispatch_state_t, binding_pointers);
  const uint32_t kernel[] = {
      0x00002783 | load | 11 << 15 | pointers << 20,  // l{w,d} a5, pointers(a1)
      0x00002783 | load | 15 << 15,                   // l{w,d} a5, 0(a5)
      0x00000713 | FAKE_ELF_ANSWER << 20,             // li a4, answer
      0x00E7A023,                                     // sw a4, 0(a5)
      0x00000513,                                     // li a0, 0
      0x00008067,                                     // ret
  };
  put(file, FAKE_ELF_CODE, query, sizeof(query));
  put(file, FAKE_ELF_KERNEL, kernel, sizeof(kernel));
}

static void put_x86_64_code(uint8_t *file, int32_t distance) {
  uint8_t query[] = {
      0x48, 0x8D, 0x05, 0, 0, 0, 0,  // lea rax, [rip + distance]
      0xC3,                          // ret
  };
  static const uint8_t kKernel[] = {
      0x48, 0x8B, 0x46,
      0x20,              // mov rax, [rsi + 32]
      0x48, 0x8B, 0x00,  // mov rax, [rax]
      0xC7, 0x00, FAKE_ELF_ANSWER,
      0,    0,    0,  // mov dword [rax], answer
      0x31, 0xC0,     // xor eax, eax
      0xC3,           // ret
  };
  distance -= 7;  // counts from the next instruction
  memcpy(query + 3, &distance, sizeof(distance));
  put(file, FAKE_ELF_CODE, query, sizeof(query));
  put(file, FAKE_ELF_KERNEL, kKernel, sizeof(kKernel));
}

void fake_elf_build(uint8_t *out, const bm_elf_machine_t *machine) {
  const int32_t distance =
      DATA_ADDRESS(FAKE_ELF_LIBRARY) - CODE_ADDRESS(FAKE_ELF_CODE);
  memset(out, 0, FAKE_ELF_BYTES);
  put_headers(out, machine);
  put_tables(out, machine);
  put_library(out);
  if (machine == &bm_elf_machine_x86_64) {
    put_x86_64_code(out, distance);
  } else {
    put_riscv_code(out, machine, distance);
  }
}
