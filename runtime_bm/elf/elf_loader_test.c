// Loads files of this machine's class (32 or 64 bits) for any machine; only the
// model test runs what was loaded.
#include "runtime_bm/elf/elf_loader.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/elf/elf_types.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_elf.h"

enum {
  IS_64 = BM_ELF_CLASS == 2,
  WORD = sizeof(bm_elf_word_t),
  RELA_BYTES = sizeof(bm_elf_rela_t),
};

// The first symbol in the `info` of a relocation.
#define SYMBOL_1 (1ull << (IS_64 ? 32 : 8))

static const bm_elf_machine_t *const kRiscv =
    IS_64 ? &bm_elf_machine_riscv64 : &bm_elf_machine_riscv32;

static uint8_t file[FAKE_ELF_BYTES];
static _Alignas(BM_ELF_PAGE_BYTES) uint8_t memory[FAKE_ELF_IMAGE_BYTES];

static bm_status_t load(const bm_elf_machine_t *machine, size_t file_bytes,
                        size_t memory_bytes) {
  bm_span_t image;
  void *function;
  const bm_cspan_t from = {file, file_bytes};
  const bm_span_t to = {memory, memory_bytes};
  return bm_elf_load(from, machine, to, FAKE_ELF_SYMBOL, &image, &function);
}

// Loads all of `file` as it is now, as a RISC-V file.
static bm_status_t load_spoiled(void) {
  return load(kRiscv, sizeof(file), sizeof(memory));
}

static void build(void) { fake_elf_build(file, kRiscv); }

// Overwrites a field of the file. In 32 bits, UINT64_MAX becomes UINT32_MAX.
static void poke(size_t offset, uint64_t value, size_t bytes) {
  memcpy(file + offset, &value, bytes);
}

#define HEADER_FIELD(field) offsetof(bm_elf_header_t, field)
#define PROGRAM_FIELD(index, field)                         \
  (FAKE_ELF_PROGRAMS + (index) * sizeof(bm_elf_program_t) + \
   offsetof(bm_elf_program_t, field))
#define DYNAMIC_FIELD(index, field)                        \
  (FAKE_ELF_DYNAMIC + (index) * sizeof(bm_elf_dynamic_t) + \
   offsetof(bm_elf_dynamic_t, field))
#define RELA_FIELD(index, field)                     \
  (FAKE_ELF_RELA + (index) * sizeof(bm_elf_rela_t) + \
   offsetof(bm_elf_rela_t, field))
#define SYMBOL_FIELD(index, field)                        \
  (FAKE_ELF_SYMBOLS + (index) * sizeof(bm_elf_symbol_t) + \
   offsetof(bm_elf_symbol_t, field))

// Builds a good file, spoils one field and expects `code`.
#define EXPECT_SPOILED(offset, value, bytes, code) \
  do {                                             \
    build();                                       \
    poke((offset), (value), (bytes));              \
    BM_EXPECT_CODE(load_spoiled(), code);          \
  } while (0)

static void loads_and_relocates(void) {
  const bm_elf_machine_t *const machines[] = {kRiscv, &bm_elf_machine_x86_64};
  for (uint32_t i = 0; i < 2; ++i) {
    fake_elf_build(file, machines[i]);
    memset(memory, 0xAA, sizeof(memory));
    const bm_cspan_t from = {file, sizeof(file)};
    const bm_span_t to = {memory, sizeof(memory)};
    bm_span_t image;
    void *function;
    uint64_t bytes;
    BM_EXPECT_OK(bm_elf_measure(from, machines[i], &bytes));
    BM_EXPECT_EQ(bytes, FAKE_ELF_IMAGE_BYTES);
    BM_EXPECT_OK(
        bm_elf_load(from, machines[i], to, FAKE_ELF_SYMBOL, &image, &function));
    BM_EXPECT(image.data == memory);
    BM_EXPECT_EQ(image.size, FAKE_ELF_IMAGE_BYTES);
    BM_EXPECT(function == memory + FAKE_ELF_CODE + FAKE_ELF_CODE_SHIFT);
    BM_EXPECT(memcmp(function, file + FAKE_ELF_CODE, 8) == 0);
    uintptr_t slot;
    memcpy(&slot, memory + FAKE_ELF_FUNCTIONS + FAKE_ELF_DATA_SHIFT,
           sizeof(slot));
    BM_EXPECT_EQ(slot,
                 (uintptr_t)memory + FAKE_ELF_KERNEL + FAKE_ELF_CODE_SHIFT);
    // The gap between segments and the end without file contents are cleared.
    BM_EXPECT_EQ(memory[FAKE_ELF_CODE], 0);
    BM_EXPECT_EQ(memory[sizeof(memory) - 1], 0);
  }
}

static void refuses_memory_that_does_not_do(void) {
  build();
  BM_EXPECT_CODE(load(kRiscv, sizeof(file), sizeof(memory) - 1),
                 RESOURCE_EXHAUSTED);
  const bm_cspan_t from = {file, sizeof(file)};
  const bm_span_t misaligned = {memory + 64, sizeof(memory) - 64};
  bm_span_t image;
  void *function;
  BM_EXPECT_CODE(
      bm_elf_load(from, kRiscv, misaligned, FAKE_ELF_SYMBOL, &image, &function),
      INVALID_ARGUMENT);
}

static void refuses_other_machines(void) {
  build();
  BM_EXPECT_CODE(load(&bm_elf_machine_x86_64, sizeof(file), sizeof(memory)),
                 UNIMPLEMENTED);
  EXPECT_SPOILED(HEADER_FIELD(machine), 62, 2, UNIMPLEMENTED);
  EXPECT_SPOILED(HEADER_FIELD(flags), 0xC, 4, UNIMPLEMENTED);  // RVE
  // Single floats in registers: on 32 bits either ABI is fine.
  build();
  poke(HEADER_FIELD(flags), 0x2, 4);
  BM_EXPECT((load_spoiled().bits == 0) == !IS_64);
  // The other class.
  EXPECT_SPOILED(HEADER_FIELD(ident) + 4, 3 - BM_ELF_CLASS, 1, DATA_LOSS);
  EXPECT_SPOILED(HEADER_FIELD(ident) + 5, 2, 1, DATA_LOSS);  // big endian
  EXPECT_SPOILED(HEADER_FIELD(type), 2, 2, UNIMPLEMENTED);   // executable
}

static void refuses_bad_headers(void) {
  EXPECT_SPOILED(HEADER_FIELD(ident), 0, 1, DATA_LOSS);
  EXPECT_SPOILED(HEADER_FIELD(program_entry_bytes),
                 sizeof(bm_elf_program_t) - 1, 2, DATA_LOSS);
  EXPECT_SPOILED(HEADER_FIELD(program_count), 0, 2, DATA_LOSS);
  EXPECT_SPOILED(HEADER_FIELD(program_count), 3, 2, DATA_LOSS);
  EXPECT_SPOILED(HEADER_FIELD(program_offset), UINT64_MAX, WORD, DATA_LOSS);
  EXPECT_SPOILED(HEADER_FIELD(program_offset), UINT64_MAX - 32, WORD,
                 DATA_LOSS);
  EXPECT_SPOILED(HEADER_FIELD(program_offset), FAKE_ELF_BYTES - 8, WORD,
                 DATA_LOSS);
}

static void refuses_bad_segments(void) {
  EXPECT_SPOILED(PROGRAM_FIELD(0, offset), UINT64_MAX, WORD, DATA_LOSS);
  EXPECT_SPOILED(PROGRAM_FIELD(2, offset), FAKE_ELF_DATA + 1, WORD, DATA_LOSS);
  EXPECT_SPOILED(PROGRAM_FIELD(2, file_bytes), 1 << 16, WORD, DATA_LOSS);
  // Larger in the file than in memory.
  EXPECT_SPOILED(PROGRAM_FIELD(1, memory_bytes),
                 FAKE_ELF_DATA - FAKE_ELF_CODE - 1, WORD, DATA_LOSS);
  EXPECT_SPOILED(PROGRAM_FIELD(2, memory_bytes), 0, WORD, DATA_LOSS);
  EXPECT_SPOILED(PROGRAM_FIELD(2, memory_bytes), UINT64_MAX, WORD, DATA_LOSS);
  EXPECT_SPOILED(PROGRAM_FIELD(2, vaddr), UINT64_MAX, WORD, DATA_LOSS);
  EXPECT_SPOILED(PROGRAM_FIELD(2, vaddr), UINT64_MAX - 0x2000, WORD, DATA_LOSS);
  EXPECT_SPOILED(PROGRAM_FIELD(2, vaddr), 0x100, WORD, DATA_LOSS);  // overlaps
  EXPECT_SPOILED(PROGRAM_FIELD(2, vaddr), 1 << 29, WORD, RESOURCE_EXHAUSTED);
  EXPECT_SPOILED(PROGRAM_FIELD(1, alignment), 0x10000, WORD, UNIMPLEMENTED);
  EXPECT_SPOILED(PROGRAM_FIELD(3, type), BM_ELF_PROGRAM_TLS, 4, UNIMPLEMENTED);
  EXPECT_SPOILED(PROGRAM_FIELD(3, type), BM_ELF_PROGRAM_INTERP, 4,
                 UNIMPLEMENTED);
  EXPECT_SPOILED(PROGRAM_FIELD(3, type), 0, 4, DATA_LOSS);  // no DYNAMIC
  EXPECT_SPOILED(PROGRAM_FIELD(3, vaddr), UINT64_MAX - 8, WORD, DATA_LOSS);
  EXPECT_SPOILED(PROGRAM_FIELD(3, vaddr), FAKE_ELF_IMAGE_BYTES - WORD, WORD,
                 DATA_LOSS);
}

static void refuses_bad_dynamic_entries(void) {
  // Features that this loader does not support.
  static const uint64_t kUnsupported[] = {
      BM_ELF_DYNAMIC_NEEDED,     BM_ELF_DYNAMIC_PLT_BYTES,
      BM_ELF_DYNAMIC_INIT,       BM_ELF_DYNAMIC_FINI,
      BM_ELF_DYNAMIC_REL,        BM_ELF_DYNAMIC_JMPREL,
      BM_ELF_DYNAMIC_INIT_ARRAY, BM_ELF_DYNAMIC_FINI_ARRAY,
      BM_ELF_DYNAMIC_RELR};
  for (size_t i = 0; i < sizeof(kUnsupported) / sizeof(kUnsupported[0]); ++i) {
    EXPECT_SPOILED(DYNAMIC_FIELD(6, tag), kUnsupported[i], WORD, UNIMPLEMENTED);
  }
  EXPECT_SPOILED(DYNAMIC_FIELD(7, tag), 1 << 20, WORD, DATA_LOSS);  // no end
  EXPECT_SPOILED(DYNAMIC_FIELD(0, value), UINT64_MAX - 8, WORD, DATA_LOSS);
  EXPECT_SPOILED(DYNAMIC_FIELD(1, value), SIZE_MAX / RELA_BYTES * RELA_BYTES,
                 WORD, DATA_LOSS);
  EXPECT_SPOILED(DYNAMIC_FIELD(1, value), RELA_BYTES + 1, WORD, DATA_LOSS);
  EXPECT_SPOILED(DYNAMIC_FIELD(2, value), UINT64_MAX - 24, WORD, DATA_LOSS);
  EXPECT_SPOILED(DYNAMIC_FIELD(3, value), UINT64_MAX, WORD, DATA_LOSS);
  EXPECT_SPOILED(DYNAMIC_FIELD(4, value), UINT64_MAX, WORD, DATA_LOSS);
  EXPECT_SPOILED(DYNAMIC_FIELD(5, value), UINT64_MAX - 4, WORD, DATA_LOSS);
}

static void refuses_bad_relocations(void) {
  EXPECT_SPOILED(RELA_FIELD(0, info), 2, WORD, UNIMPLEMENTED);  // R_RISCV_64
  EXPECT_SPOILED(RELA_FIELD(0, info), 5, WORD, UNIMPLEMENTED);  // JUMP_SLOT
  EXPECT_SPOILED(RELA_FIELD(0, info), SYMBOL_1 | 3, WORD, UNIMPLEMENTED);
  EXPECT_SPOILED(RELA_FIELD(0, offset), UINT64_MAX, WORD, OUT_OF_RANGE);
  EXPECT_SPOILED(RELA_FIELD(0, offset), UINT64_MAX - 3, WORD, OUT_OF_RANGE);
  EXPECT_SPOILED(RELA_FIELD(0, offset), FAKE_ELF_IMAGE_BYTES - WORD + 1, WORD,
                 OUT_OF_RANGE);
  EXPECT_SPOILED(RELA_FIELD(0, addend), UINT64_MAX, WORD, OUT_OF_RANGE);
  EXPECT_SPOILED(RELA_FIELD(0, addend), FAKE_ELF_IMAGE_BYTES + 1, WORD,
                 OUT_OF_RANGE);
}

static void refuses_bad_symbols(void) {
  EXPECT_SPOILED(FAKE_ELF_STRINGS + 1, 'x', 1, NOT_FOUND);
  EXPECT_SPOILED(FAKE_ELF_HASH + 4, 1, 4, NOT_FOUND);    // fewer symbols
  EXPECT_SPOILED(FAKE_ELF_HASH + 4, UINT32_MAX, 4, OK);  // found before
  EXPECT_SPOILED(SYMBOL_FIELD(1, name), UINT32_MAX, 4, NOT_FOUND);
  EXPECT_SPOILED(SYMBOL_FIELD(1, section), 0, 2, NOT_FOUND);  // undefined
  EXPECT_SPOILED(SYMBOL_FIELD(1, info), 0x11, 1, DATA_LOSS);  // an object
  EXPECT_SPOILED(SYMBOL_FIELD(1, value), UINT64_MAX, WORD, OUT_OF_RANGE);
  EXPECT_SPOILED(SYMBOL_FIELD(1, value), FAKE_ELF_IMAGE_BYTES, WORD,
                 OUT_OF_RANGE);
  // The name's end is cut off from the string table.
  EXPECT_SPOILED(DYNAMIC_FIELD(4, value), sizeof(FAKE_ELF_SYMBOL), WORD,
                 NOT_FOUND);
}

// A table that claims more symbols than the image has room for.
static void stops_at_the_end_of_the_image(void) {
  build();
  poke(FAKE_ELF_HASH + 4, UINT32_MAX, 4);
  poke(FAKE_ELF_STRINGS + 1, 'x', 1);
  BM_EXPECT_CODE(load_spoiled(), DATA_LOSS);
}

static void refuses_every_truncation(void) {
  const bm_elf_machine_t *const machines[] = {kRiscv, &bm_elf_machine_x86_64};
  for (uint32_t i = 0; i < 2; ++i) {
    fake_elf_build(file, machines[i]);
    for (size_t size = 0; size < sizeof(file); ++size) {
      BM_EXPECT_CODE(load(machines[i], size, sizeof(memory)), DATA_LOSS);
    }
  }
}

// No single flipped bit makes the loader touch memory it should not: it returns
// a status or loads. The sanitizers of the host build check the rest.
static void survives_every_bit_flip(void) {
  uint32_t refused = 0;
  for (size_t bit = 0; bit < sizeof(file) * 8; ++bit) {
    build();
    file[bit / 8] ^= (uint8_t)(1 << bit % 8);
    if (load_spoiled().bits != 0) ++refused;
  }
  // Most of the file is code, attributes and padding, where the loader cannot
  // notice a flip; 32-bit tables are smaller.
  BM_EXPECT(refused > sizeof(file) * 8 / 5);
}

int main(void) {
  BM_TEST(loads_and_relocates);
  BM_TEST(refuses_memory_that_does_not_do);
  BM_TEST(refuses_other_machines);
  BM_TEST(refuses_bad_headers);
  BM_TEST(refuses_bad_segments);
  BM_TEST(refuses_bad_dynamic_entries);
  BM_TEST(refuses_bad_relocations);
  BM_TEST(refuses_bad_symbols);
  BM_TEST(stops_at_the_end_of_the_image);
  BM_TEST(refuses_every_truncation);
  BM_TEST(survives_every_bit_flip);
  return bm_test_end();
}
