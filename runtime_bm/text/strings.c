#include "runtime_bm/text/strings.h"

// Returns the first of the lookup whose next byte is `byte` or larger.
static uint32_t first_from(const bm_sorted_t *sorted, const bm_lookup_t *lookup,
                           uint32_t byte) {
  uint32_t low = lookup->first;
  uint32_t high = lookup->end;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const bm_cspan_t string =
        bm_strings_at(&sorted->strings, bm_numbers_at(&sorted->order, middle));
    // One that ends here comes before all that go on.
    if (string.size == lookup->depth || string.data[lookup->depth] < byte) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool bm_lookup_take(const bm_sorted_t *sorted, bm_lookup_t *lookup,
                    uint8_t byte) {
  lookup->first = first_from(sorted, lookup, byte);
  lookup->end = first_from(sorted, lookup, byte + 1u);
  ++lookup->depth;
  return lookup->first < lookup->end;
}

bool bm_lookup_take_all(const bm_sorted_t *sorted, bm_lookup_t *lookup,
                        bm_cspan_t bytes) {
  for (size_t i = 0; i < bytes.size; ++i) {
    if (!bm_lookup_take(sorted, lookup, bytes.data[i])) return false;
  }
  return true;
}

uint32_t bm_lookup_found(const bm_sorted_t *sorted, const bm_lookup_t *lookup) {
  if (lookup->first == lookup->end) return BM_NONE;
  const uint32_t index = bm_numbers_at(&sorted->order, lookup->first);
  const size_t size = bm_strings_at(&sorted->strings, index).size;
  return size == lookup->depth ? index : BM_NONE;
}
