// Samples on a host, for sample_test.py. Reads lines of bits in hexadecimal:
//   exp X                                 -> bits of bm_exp
//   new TEMPERATURE TOP_K TOP_P PENALTY SEED COUNT
//   next SEEN_COUNT SEEN... LOGIT...      -> the token
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_bm/text/sampler.h"

enum { TOKENS = 4096 };

static uint32_t word(void) {
  uint32_t value;
  if (scanf("%" SCNx32, &value) != 1) exit(1);
  return value;
}

static float number(void) {
  const uint32_t bits = word();
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

int main(void) {
  static uint32_t order[TOKENS];
  static uint32_t seen[TOKENS];
  static float logits[TOKENS];
  bm_sampler_t sampler;
  char what[8];
  while (scanf("%7s", what) == 1) {
    if (strcmp(what, "exp") == 0) {
      const float result = bm_exp(number());
      uint32_t bits;
      memcpy(&bits, &result, sizeof(bits));
      printf("%" PRIx32 "\n", bits);
    } else if (strcmp(what, "new") == 0) {
      bm_sampling_t settings = {.temperature = number(), .top_k = word()};
      settings.top_p = number();
      settings.repetition_penalty = number();
      const uint32_t seed = word();
      const uint32_t count = word();
      if (count > TOKENS) return 1;
      if (bm_sampler_init(&sampler, &settings, seed, order, count).bits != 0) {
        return 1;
      }
    } else {
      const uint32_t seen_count = word();
      if (seen_count > TOKENS) return 1;
      for (uint32_t i = 0; i < seen_count; ++i) seen[i] = word();
      for (uint32_t i = 0; i < sampler.count; ++i) logits[i] = number();
      printf("%" PRIx32 "\n",
             bm_sampler_next(&sampler, logits, seen, seen_count));
    }
    fflush(stdout);
  }
  return 0;
}
