// The parts of ELF that the loader reads, for files of this machine's class (32
// or 64 bits).
#ifndef RUNTIME_BM_ELF_ELF_TYPES_H_
#define RUNTIME_BM_ELF_ELF_TYPES_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

// Addresses, offsets and sizes in a file.
typedef uintptr_t bm_elf_word_t;

enum { BM_ELF_CLASS = sizeof(bm_elf_word_t) == 8 ? 2 : 1 };

typedef struct bm_elf_header_t {
  uint8_t ident[16];
  uint16_t type;
  uint16_t machine;
  uint32_t version;
  bm_elf_word_t entry;
  bm_elf_word_t program_offset;
  bm_elf_word_t section_offset;
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
#if UINTPTR_MAX == UINT64_MAX
  uint32_t flags;
#endif
  bm_elf_word_t offset;
  bm_elf_word_t vaddr;
  bm_elf_word_t paddr;
  bm_elf_word_t file_bytes;
  bm_elf_word_t memory_bytes;
#if UINTPTR_MAX != UINT64_MAX
  uint32_t flags;
#endif
  bm_elf_word_t alignment;
} bm_elf_program_t;

typedef struct bm_elf_dynamic_t {
  bm_elf_word_t tag;
  bm_elf_word_t value;
} bm_elf_dynamic_t;

typedef struct bm_elf_symbol_t {
  uint32_t name;
#if UINTPTR_MAX == UINT64_MAX
  uint8_t info;
  uint8_t other;
  uint16_t section;
  uint64_t value;
  uint64_t bytes;
#else
  uint32_t value;
  uint32_t bytes;
  uint8_t info;
  uint8_t other;
  uint16_t section;
#endif
} bm_elf_symbol_t;

typedef struct bm_elf_rela_t {
  bm_elf_word_t offset;
  bm_elf_word_t info;
  intptr_t addend;
} bm_elf_rela_t;

#define BM_ELF_ASSERT_SIZE(type, bytes_64, bytes_32) \
  BM_STATIC_ASSERT(                                  \
      sizeof(type) == (BM_ELF_CLASS == 2 ? (bytes_64) : (bytes_32)), "ELF")

BM_ELF_ASSERT_SIZE(bm_elf_header_t, 64, 52);
BM_ELF_ASSERT_SIZE(bm_elf_program_t, 56, 32);
BM_ELF_ASSERT_SIZE(bm_elf_dynamic_t, 16, 8);
BM_ELF_ASSERT_SIZE(bm_elf_symbol_t, 24, 16);
BM_ELF_ASSERT_SIZE(bm_elf_rela_t, 24, 12);

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
  // One more than the largest tag the loader uses.
  BM_ELF_DYNAMIC_COUNT = 37,

  BM_ELF_SYMBOL_BIND_LOCAL = 0,
  BM_ELF_SYMBOL_TYPE_FUNCTION = 2,
  BM_ELF_SECTION_UNDEFINED = 0,
};

#endif  // RUNTIME_BM_ELF_ELF_TYPES_H_
