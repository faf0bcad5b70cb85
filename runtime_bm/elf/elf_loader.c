#include "runtime_bm/elf/elf_loader.h"

#include <stdbool.h>

#include "runtime_bm/base/memory.h"
#include "runtime_bm/base/range.h"
#include "runtime_bm/elf/elf_types.h"

#define BM_FILE BM_FILE_ELF_LOADER

// The compiler's files have a dozen dynamic entries.
enum { MAX_DYNAMICS = 64 };

// Far beyond any kernel library. Keeps sums of two addresses from wrapping,
// also in 32-bit files.
#define MAX_IMAGE_BYTES (1u << 30)

// The values of the dynamic section by tag, 0 if absent. All are still
// untrusted.
typedef struct dynamic_t {
  uint64_t values[BM_ELF_DYNAMIC_COUNT];
} dynamic_t;

// Tags that this loader would have to act on but does not support. Tags in
// neither set (flags, counts) are hints.
#define TAG(name) (1ull << BM_ELF_DYNAMIC_##name)
#define UNSUPPORTED_TAGS                                             \
  (TAG(NEEDED) | TAG(PLT_BYTES) | TAG(INIT) | TAG(FINI) | TAG(REL) | \
   TAG(JMPREL) | TAG(INIT_ARRAY) | TAG(FINI_ARRAY) | TAG(RELR))

// Copies `size` bytes at `offset` of `from`, since structures in a file need
// not be aligned for the processor.
static bm_status_t read_at(bm_cspan_t from, uint64_t offset, void *out,
                           size_t size) {
  BM_CHECK(bm_range_fits(offset, size, from.size), DATA_LOSS);
  memcpy(out, from.data + offset, size);
  return bm_ok();
}

static bm_status_t read_header(bm_cspan_t file, const bm_elf_machine_t *machine,
                               bm_elf_header_t *out) {
  static const uint8_t kIdent[7] = {0x7F, 'E', 'L', 'F', BM_ELF_CLASS,
                                    1,   // little endian
                                    1};  // version
  BM_TRY(read_at(file, 0, out, sizeof(*out)));
  BM_CHECK(memcmp(out->ident, kIdent, sizeof(kIdent)) == 0, DATA_LOSS);
  BM_CHECK(out->machine == machine->machine, UNIMPLEMENTED);
  BM_CHECK((out->flags & machine->flags_mask) == machine->flags, UNIMPLEMENTED);
  BM_CHECK(out->type == BM_ELF_TYPE_DYN, UNIMPLEMENTED);
  BM_CHECK(out->program_entry_bytes == sizeof(bm_elf_program_t), DATA_LOSS);
  return bm_ok();
}

// Reads program header `index`. Callers start at 0, which fails if the table is
// not in the file at all, so no later sum can wrap.
static bm_status_t read_program(bm_cspan_t file, const bm_elf_header_t *header,
                                uint32_t index, bm_elf_program_t *out) {
  return read_at(file, header->program_offset + index * sizeof(*out), out,
                 sizeof(*out));
}

// Checks every program header. Afterwards each LOAD segment's bytes are in the
// file, the segments ascend in memory without overlap, and the last ends at
// *out_bytes.
static bm_status_t verify_programs(bm_cspan_t file,
                                   const bm_elf_header_t *header,
                                   uint64_t *out_bytes) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < header->program_count; ++i) {
    bm_elf_program_t program;
    BM_TRY(read_program(file, header, i, &program));
    BM_CHECK(program.type != BM_ELF_PROGRAM_INTERP, UNIMPLEMENTED);
    BM_CHECK(program.type != BM_ELF_PROGRAM_TLS, UNIMPLEMENTED);
    if (program.type != BM_ELF_PROGRAM_LOAD) continue;
    BM_CHECK(program.alignment <= BM_ELF_PAGE_BYTES, UNIMPLEMENTED);
    BM_CHECK(program.file_bytes <= program.memory_bytes, DATA_LOSS);
    BM_CHECK(bm_range_fits(program.offset, program.file_bytes, file.size),
             DATA_LOSS);
    BM_CHECK(
        bm_range_fits(program.vaddr, program.memory_bytes, MAX_IMAGE_BYTES),
        DATA_LOSS);
    BM_CHECK(program.vaddr >= end, DATA_LOSS);
    end = program.vaddr + program.memory_bytes;
  }
  *out_bytes = end;
  return bm_ok();
}

bm_status_t bm_elf_measure(bm_cspan_t file, const bm_elf_machine_t *machine,
                           uint64_t *out_bytes) {
  bm_elf_header_t header;
  BM_TRY(read_header(file, machine, &header));
  return verify_programs(file, &header, out_bytes);
}

// Copies the segments and clears gaps and parts without file contents. The
// headers must have been verified. *out_dynamic is unchanged when there is no
// dynamic section.
static bm_status_t place(bm_cspan_t file, const bm_elf_header_t *header,
                         bm_span_t image, bm_elf_program_t *out_dynamic) {
  memset(image.data, 0, image.size);
  for (uint32_t i = 0; i < header->program_count; ++i) {
    bm_elf_program_t program;
    BM_TRY(read_program(file, header, i, &program));
    if (program.type == BM_ELF_PROGRAM_LOAD) {
      memcpy(image.data + program.vaddr, file.data + program.offset,
             program.file_bytes);
    } else if (program.type == BM_ELF_PROGRAM_DYNAMIC) {
      *out_dynamic = program;
    }
  }
  return bm_ok();
}

// Collects the entries of the dynamic section `segment`. The first read is at
// its start: if that is outside the image, no later sum can wrap.
static bm_status_t read_dynamic(bm_cspan_t image,
                                const bm_elf_program_t *segment,
                                dynamic_t *out) {
  memset(out, 0, sizeof(*out));
  for (uint64_t i = 0; i < MAX_DYNAMICS; ++i) {
    bm_elf_dynamic_t entry;
    const uint64_t offset = i * sizeof(entry);
    BM_CHECK(bm_range_fits(offset, sizeof(entry), segment->memory_bytes),
             DATA_LOSS);
    BM_TRY(read_at(image, segment->vaddr + offset, &entry, sizeof(entry)));
    if (entry.tag == BM_ELF_DYNAMIC_NULL) return bm_ok();
    if (entry.tag >= BM_ELF_DYNAMIC_COUNT) continue;
    BM_CHECK(((UNSUPPORTED_TAGS >> entry.tag) & 1) == 0, UNIMPLEMENTED);
    out->values[entry.tag] = entry.value;
  }
  return BM_ERROR(UNIMPLEMENTED);
}

// Applies the relocations. They may overwrite any byte of the image, even
// tables that this loader still reads; those are checked again at each use.
static bm_status_t relocate(bm_span_t image, const bm_elf_machine_t *machine,
                            const dynamic_t *dynamic) {
  const bm_cspan_t bytes = {image.data, image.size};
  const uint64_t table = dynamic->values[BM_ELF_DYNAMIC_RELA];
  const uint64_t size = dynamic->values[BM_ELF_DYNAMIC_RELA_BYTES];
  BM_CHECK(bm_range_fits(table, size, image.size) &&
               size % sizeof(bm_elf_rela_t) == 0,
           DATA_LOSS);
  const uint64_t count = size / sizeof(bm_elf_rela_t);
  for (uint64_t i = 0; i < count; ++i) {
    bm_elf_rela_t rela;
    BM_TRY(read_at(bytes, table + i * sizeof(rela), &rela, sizeof(rela)));
    BM_CHECK(rela.info == machine->relative_relocation, UNIMPLEMENTED);
    BM_CHECK((bm_elf_word_t)rela.addend <= image.size, OUT_OF_RANGE);
    const bm_elf_word_t value =
        (uintptr_t)image.data + (bm_elf_word_t)rela.addend;
    BM_CHECK(bm_range_fits(rela.offset, sizeof(value), image.size),
             OUT_OF_RANGE);
    memcpy(image.data + rela.offset, &value, sizeof(value));
  }
  return bm_ok();
}

// True when the string at `offset` of `strings` is `symbol`.
static bool name_is(bm_cspan_t strings, size_t offset, const char *symbol) {
  for (; offset < strings.size; ++offset, ++symbol) {
    if (strings.data[offset] != (uint8_t)*symbol) return false;
    if (*symbol == '\0') return true;
  }
  return false;
}

static bm_status_t find_function(bm_cspan_t image, const dynamic_t *dynamic,
                                 const char *symbol, uint64_t *out_value) {
  const uint64_t string_table = dynamic->values[BM_ELF_DYNAMIC_STRINGS];
  const uint64_t string_bytes = dynamic->values[BM_ELF_DYNAMIC_STRING_BYTES];
  const uint64_t symbols = dynamic->values[BM_ELF_DYNAMIC_SYMBOLS];
  uint32_t hash_counts[2];  // buckets, chains; a chain per symbol
  BM_TRY(read_at(image, dynamic->values[BM_ELF_DYNAMIC_HASH], hash_counts,
                 sizeof(hash_counts)));
  BM_CHECK(bm_range_fits(string_table, string_bytes, image.size), DATA_LOSS);
  const bm_cspan_t strings = {image.data + string_table, (size_t)string_bytes};
  for (uint32_t i = 0; i < hash_counts[1]; ++i) {
    bm_elf_symbol_t entry;
    BM_TRY(read_at(image, symbols + i * sizeof(entry), &entry, sizeof(entry)));
    if (!name_is(strings, entry.name, symbol)) continue;
    BM_CHECK(entry.section != BM_ELF_SECTION_UNDEFINED, NOT_FOUND);
    BM_CHECK((entry.info & 0xF) == BM_ELF_SYMBOL_TYPE_FUNCTION, DATA_LOSS);
    BM_CHECK(entry.value < image.size, OUT_OF_RANGE);
    *out_value = entry.value;
    return bm_ok();
  }
  return BM_ERROR(NOT_FOUND);
}

bm_status_t bm_elf_load(bm_cspan_t file, const bm_elf_machine_t *machine,
                        bm_span_t memory, const char *symbol,
                        bm_span_t *out_image, void **out_function) {
  bm_elf_header_t header;
  uint64_t bytes;
  BM_TRY(read_header(file, machine, &header));
  BM_TRY(verify_programs(file, &header, &bytes));
  BM_CHECK(bm_is_aligned((uintptr_t)memory.data, BM_ELF_PAGE_BYTES),
           INVALID_ARGUMENT);
  BM_CHECK(bytes <= memory.size, RESOURCE_EXHAUSTED);

  const bm_span_t image = {memory.data, (size_t)bytes};
  const bm_cspan_t const_image = {image.data, image.size};
  bm_elf_program_t segment = {0};
  dynamic_t dynamic;
  uint64_t function;
  BM_TRY(place(file, &header, image, &segment));
  BM_TRY(read_dynamic(const_image, &segment, &dynamic));
  BM_TRY(relocate(image, machine, &dynamic));
  BM_TRY(find_function(const_image, &dynamic, symbol, &function));
  *out_image = image;
  *out_function = image.data + function;
  return bm_ok();
}
