// Included before everything that Verilator 5.006 makes. Its own functions for
// the highest words of a constant of more than 256 bits then clear words behind
// the constant, because they add the constant's offset twice. CVA6's parameters
// are such constants.
#ifndef THIRD_PARTY_VERILATOR_WIDE_CONSTANTS_H_
#define THIRD_PARTY_VERILATOR_WIDE_CONSTANTS_H_

#include "verilated.h"

// Sets the words of `out`, a constant of `bits`, from bit `from` on. The
// highest comes first; above it, words are zero.
template <typename... Words>
static inline void vl_high_words(int bits, int from, WDataOutP out,
                                 Words... words) {
  const EData high_to_low[] = {static_cast<EData>(words)...};
  int at = VL_WORDS_I(from);
  for (int i = sizeof...(words); i-- > 0;) out[at++] = high_to_low[i];
  while (at < VL_WORDS_I(bits)) out[at++] = 0;
}

#define VL_CONSTHI_W_1X vl_high_words
#define VL_CONSTHI_W_2X vl_high_words
#define VL_CONSTHI_W_3X vl_high_words
#define VL_CONSTHI_W_4X vl_high_words
#define VL_CONSTHI_W_5X vl_high_words
#define VL_CONSTHI_W_6X vl_high_words
#define VL_CONSTHI_W_7X vl_high_words
#define VL_CONSTHI_W_8X vl_high_words

#endif  // THIRD_PARTY_VERILATOR_WIDE_CONSTANTS_H_
