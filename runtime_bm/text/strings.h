// Strings of the tables, which are looked up byte by byte.
#ifndef RUNTIME_BM_TEXT_STRINGS_H_
#define RUNTIME_BM_TEXT_STRINGS_H_

#include <stdbool.h>
#include <stddef.h>

#include "runtime_bm/base/span.h"
#include "runtime_bm/text/tables.h"

BM_EXTERN_C_BEGIN

static inline bm_cspan_t bm_strings_at(const bm_strings_t *strings,
                                       uint32_t index) {
  const uint32_t begin =
      index == 0 ? 0 : bm_numbers_at(&strings->ends, index - 1);
  const bm_cspan_t found = {strings->bytes + begin,
                            bm_numbers_at(&strings->ends, index) - begin};
  return found;
}

// Those in order[first] to order[end - 1] begin with the bytes that were taken.
typedef struct bm_lookup_t {
  uint32_t first;
  uint32_t end;
  uint32_t depth;  // the number of those bytes
} bm_lookup_t;

static inline bm_lookup_t bm_lookup_begin(const bm_sorted_t *sorted) {
  const bm_lookup_t all = {0, sorted->order.count, 0};
  return all;
}

// Takes a byte. Returns false if no string goes on with it.
bool bm_lookup_take(const bm_sorted_t *sorted, bm_lookup_t *lookup,
                    uint8_t byte);

// Takes bytes. Returns false if no string goes on with them.
bool bm_lookup_take_all(const bm_sorted_t *sorted, bm_lookup_t *lookup,
                        bm_cspan_t bytes);

// Returns the number of the string that consists of the bytes that were taken,
// or BM_NONE.
uint32_t bm_lookup_found(const bm_sorted_t *sorted, const bm_lookup_t *lookup);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TEXT_STRINGS_H_
