#include "runtime_bm/base/check.h"

#include <stdbool.h>

#define BM_FILE BM_FILE_CHECK

enum { WORD_BYTES = 4 };

// May alias anything: the range holds objects of every type.
typedef uint32_t __attribute__((may_alias)) word_t;

void bm_sum_extend(bm_sum_t *sum, const void *words, size_t count) {
  const word_t *word = words;
  uint64_t total = sum->words;
  uint64_t places = sum->places;
  // Four at a time: the loop itself would cost as much as the sums.
  for (; count >= 4; count -= 4, word += 4) {
    places += total += word[0];
    places += total += word[1];
    places += total += word[2];
    places += total += word[3];
  }
  for (; count != 0; --count, ++word) places += total += *word;
  sum->words = total;
  sum->places = places;
}

bm_status_t bm_check_step(const bm_check_t *rows, size_t bytes,
                          bm_verify_t *at) {
  const bm_check_t *row = &rows[at->part];
  const uintptr_t start = (uintptr_t)row->start;
  const uintptr_t end = (uintptr_t)row->end;
  BM_CHECK(row->guard != 0, FAILED_PRECONDITION);
  BM_CHECK(row->guard == ~(start ^ end), DAMAGED);
  const size_t left = end - start - at->bytes;
  const size_t now = left <= bytes ? left : bytes / WORD_BYTES * WORD_BYTES;
  bm_sum_extend(&at->sum, row->start + at->bytes, now / WORD_BYTES);
  at->bytes += now;
  if (now != left) return bm_ok();
  BM_CHECK(at->sum.words == row->sum.words && at->sum.places == row->sum.places,
           DAMAGED);
  *at = (bm_verify_t){.part = at->part + 1};
  return bm_ok();
}
