// Judges outputs from standard input, and prints a line for each: ok, largest
// difference, elements that differ, smallest cosine, argmax. Each is a record_t
// and then the bytes of what was got and of what was wanted.
#include "runtime_bm/app/compare.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct record_t {
  bm_golden_output_t policy;
  uint32_t dtype;
  uint32_t rank;
  uint32_t shape[2];
  uint32_t bytes;
} record_t;

static void *read_bytes(size_t size) {
  void *data = aligned_alloc(64, (size / 64 + 1) * 64);
  if (data == NULL || fread(data, 1, size, stdin) != size) exit(1);
  return data;
}

int main(void) {
  record_t record;
  while (fread(&record, sizeof(record), 1, stdin) == 1) {
    void *got = read_bytes(record.bytes);
    void *want = read_bytes(record.bytes);
    const bm_tensor_t tensor = {
        .data = got,
        .shape = record.shape,
        .rank = record.rank,
        .dtype = record.dtype,
        .bytes = record.bytes,
    };
    bm_compare_t result;
    bm_compare_begin(&result);
    bm_compare_output(&result, &record.policy, &tensor, want);
    printf("%d %a %u %a %u\n", (int)result.ok, result.max_abs,
           (unsigned)result.differing, result.min_cosine,
           (unsigned)bm_compare_argmax(&tensor));
    free(got);
    free(want);
  }
  return 0;
}
