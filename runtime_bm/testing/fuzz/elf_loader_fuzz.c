// Fuzzes the ELF loader. The first byte chooses the machine and whether the
// rest is a file or edits to a good file. Edits get past the headers at once.
#include <string.h>

#include "runtime_bm/elf/elf_loader.h"
#include "runtime_bm/testing/fake_elf.h"
#include "runtime_bm/testing/fuzz/fuzz.h"

enum {
  OTHER_MACHINE = 1,
  EDITS = 2,
  MAX_MEMORY_BYTES = 1 << 16,
};

// Returns a file of exactly *size bytes.
static uint8_t *make_file(fuzz_input_t *input, uint32_t choice,
                          const bm_elf_machine_t *machine, size_t *size) {
  if ((choice & EDITS) == 0) {
    *size = input->size;
    uint8_t *file = fuzz_memory(8, input->size);
    memcpy(file, input->data, input->size);
    return file;
  }
  *size = FAKE_ELF_BYTES;
  uint8_t *file = fuzz_memory(8, FAKE_ELF_BYTES);
  fake_elf_build(file, machine);
  while (input->size > 0) {
    const uint32_t offset = fuzz_half(input);
    file[offset % FAKE_ELF_BYTES] = (uint8_t)fuzz_byte(input);
  }
  return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input_t input = {data, size};
  const uint32_t choice = fuzz_byte(&input);
  const bm_elf_machine_t *machine =
      choice & OTHER_MACHINE ? &bm_elf_machine_x86_64 : &bm_elf_machine_riscv64;
  size_t file_bytes;
  uint8_t *bytes = make_file(&input, choice, machine, &file_bytes);
  const bm_cspan_t file = {bytes, file_bytes};

  uint64_t needed;
  const bm_status_t measured = bm_elf_measure(file, machine, &needed);
  size_t memory_bytes = MAX_MEMORY_BYTES;
  if (measured.bits == 0 && needed < MAX_MEMORY_BYTES) memory_bytes = needed;
  const bm_span_t memory = {fuzz_memory(BM_ELF_PAGE_BYTES, memory_bytes),
                            memory_bytes};
  bm_span_t image;
  void *function;
  const bm_status_t loaded =
      bm_elf_load(file, machine, memory, FAKE_ELF_SYMBOL, &image, &function);
  // Loading never accepts a file that measuring refused.
  FUZZ_ASSERT(loaded.bits != 0 || measured.bits == 0);
  if (loaded.bits == 0) {
    const size_t offset = (size_t)((uint8_t *)function - memory.data);
    FUZZ_ASSERT(image.data == memory.data && image.size == needed);
    FUZZ_ASSERT(offset < image.size);
  }
  free(memory.data);
  free(bytes);
  return 0;
}
