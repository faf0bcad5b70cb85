// Builds a kernel library as an ELF file, byte by byte, in the compiler's form:
// three LOAD segments, RELATIVE relocations, one symbol. This keeps binaries
// out of the repository and lets a test change any byte.
#ifndef RUNTIME_BM_TESTING_FAKE_ELF_H_
#define RUNTIME_BM_TESTING_FAKE_ELF_H_

#include <stdint.h>

#include "runtime_bm/elf/elf_machine.h"

BM_EXTERN_C_BEGIN

// The file's parts, as offsets in the file. In memory the segments are whole
// pages further apart.
enum {
  FAKE_ELF_HEADER = 0,
  FAKE_ELF_PROGRAMS = 64,
  FAKE_ELF_PROGRAM_COUNT = 4,  // three LOAD, one DYNAMIC
  FAKE_ELF_SYMBOLS = 0x140,
  FAKE_ELF_SYMBOL_COUNT = 2,  // the null symbol, the query
  FAKE_ELF_HASH = 0x170,
  FAKE_ELF_STRINGS = 0x188,
  FAKE_ELF_RELA = 0x1B0,
  FAKE_ELF_RELA_COUNT = 7,
  FAKE_ELF_LIBRARY_NAME = 0x258,
  FAKE_ELF_EXPORT_NAME = 0x268,
  FAKE_ELF_ATTRS = 0x278,
  FAKE_ELF_CODE = 0x2B8,  // begins the second segment
  FAKE_ELF_KERNEL = 0x2C8,
  FAKE_ELF_DATA = 0x2E0,  // begins the third segment
  FAKE_ELF_LIBRARY = 0x2E0,
  FAKE_ELF_LIBRARY_HEADER = 0x360,
  FAKE_ELF_FUNCTIONS = 0x378,
  FAKE_ELF_NAMES = 0x380,
  FAKE_ELF_DYNAMIC = 0x388,
  FAKE_ELF_DYNAMIC_COUNT = 8,
  FAKE_ELF_BYTES = 0x408,

  // Added to an offset to get its address in the loaded image.
  FAKE_ELF_CODE_SHIFT = 0x1000,
  FAKE_ELF_DATA_SHIFT = 0x2000,
  // The third segment has this many bytes without file contents.
  FAKE_ELF_ZERO_BYTES = 0x40,
  FAKE_ELF_IMAGE_BYTES =
      FAKE_ELF_BYTES + FAKE_ELF_DATA_SHIFT + FAKE_ELF_ZERO_BYTES,
};

#define FAKE_ELF_SYMBOL "iree_hal_executable_library_query"

// Its only kernel, "fake_answer", stores this in its only binding (u32).
enum { FAKE_ELF_ANSWER = 42 };

// Writes FAKE_ELF_BYTES bytes to `out`: code for the machine it names.
void fake_elf_build(uint8_t *out, const bm_elf_machine_t *machine);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TESTING_FAKE_ELF_H_
