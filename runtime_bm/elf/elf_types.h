// The parts of ELF64 that the loader reads.
#ifndef RUNTIME_BM_ELF_ELF_TYPES_H_
#define RUNTIME_BM_ELF_ELF_TYPES_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

typedef struct bm_elf_header_t {
  uint8_t ident[16];
  uint16_t type;
  uint16_t machine;
  uint32_t version;
  uint64_t entry;
  uint64_t program_offset;
  uint64_t section_offset;
  uint32_t flags;
  uint16_t header_bytes;
  uint16_t program_entry_bytes;
  uint16_t program_count;
  uint16_t section_entry_bytes;
  uint16_t section_count;
  uint16_t section_names;
} bm_elf_header_t;

typedef struct bm_elf_program_t {
  uint32_t type;
  uint32_t flags;
  uint64_t offset;
  uint64_t vaddr;
  uint64_t paddr;
  uint64_t file_bytes;
  uint64_t memory_bytes;
  uint64_t alignment;
} bm_elf_program_t;

typedef struct bm_elf_dynamic_t {
  uint64_t tag;
  uint64_t value;
} bm_elf_dynamic_t;

typedef struct bm_elf_symbol_t {
  uint32_t name;
  uint8_t info;
  uint8_t other;
  uint16_t section;
  uint64_t value;
  uint64_t bytes;
} bm_elf_symbol_t;

typedef struct bm_elf_rela_t {
  uint64_t offset;
  uint64_t info;
  int64_t addend;
} bm_elf_rela_t;

BM_STATIC_ASSERT(sizeof(bm_elf_header_t) == 64, "ELF64");
BM_STATIC_ASSERT(sizeof(bm_elf_program_t) == 56, "ELF64");
BM_STATIC_ASSERT(sizeof(bm_elf_dynamic_t) == 16, "ELF64");
BM_STATIC_ASSERT(sizeof(bm_elf_symbol_t) == 24, "ELF64");
BM_STATIC_ASSERT(sizeof(bm_elf_rela_t) == 24, "ELF64");

enum {
  BM_ELF_TYPE_DYN = 3,

  BM_ELF_PROGRAM_LOAD = 1,
  BM_ELF_PROGRAM_DYNAMIC = 2,
  BM_ELF_PROGRAM_INTERP = 3,
  BM_ELF_PROGRAM_TLS = 7,

  BM_ELF_DYNAMIC_NULL = 0,
  BM_ELF_DYNAMIC_NEEDED = 1,
  BM_ELF_DYNAMIC_PLT_BYTES = 2,
  BM_ELF_DYNAMIC_HASH = 4,
  BM_ELF_DYNAMIC_STRINGS = 5,
  BM_ELF_DYNAMIC_SYMBOLS = 6,
  BM_ELF_DYNAMIC_RELA = 7,
  BM_ELF_DYNAMIC_RELA_BYTES = 8,
  BM_ELF_DYNAMIC_STRING_BYTES = 10,
  BM_ELF_DYNAMIC_INIT = 12,
  BM_ELF_DYNAMIC_FINI = 13,
  BM_ELF_DYNAMIC_REL = 17,
  BM_ELF_DYNAMIC_JMPREL = 23,
  BM_ELF_DYNAMIC_INIT_ARRAY = 25,
  BM_ELF_DYNAMIC_FINI_ARRAY = 26,
  BM_ELF_DYNAMIC_RELR = 36,
  // One more than the largest entry the loader looks at.
  BM_ELF_DYNAMIC_COUNT = 37,

  BM_ELF_SYMBOL_BIND_LOCAL = 0,
  BM_ELF_SYMBOL_TYPE_FUNCTION = 2,
  BM_ELF_SECTION_UNDEFINED = 0,
};

#endif  // RUNTIME_BM_ELF_ELF_TYPES_H_
