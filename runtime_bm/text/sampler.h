// The next token of a text, chosen by the logits of a model. The same seed,
// settings and logits give the same tokens everywhere.
#ifndef RUNTIME_BM_TEXT_SAMPLER_H_
#define RUNTIME_BM_TEXT_SAMPLER_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"
#include "runtime_bm/base/status.h"

BM_EXTERN_C_BEGIN

// In this order: repeated tokens are made less likely, logits are divided by
// the temperature, the `top_k` likeliest are kept, and of those the fewest that
// have the probability `top_p` together.
typedef struct bm_sampling_t {
  float temperature;  // 0: always the likeliest token
  uint32_t top_k;     // 0: all
  float top_p;        // 1: all
  // Logits of tokens that have been there are divided by this if they are
  // positive, and multiplied otherwise. 1: no penalty.
  float repetition_penalty;
} bm_sampling_t;

typedef struct bm_sampler_t {
  bm_sampling_t settings;
  uint64_t state;
  uint32_t *order;  // scratch memory, a word for each token
  uint32_t count;
} bm_sampler_t;

// Prepares for `count` tokens. `order` has as many words and outlives the
// sampler. Error: INVALID_ARGUMENT when a setting makes no sense, or there are
// no tokens.
BM_MUST_USE bm_status_t bm_sampler_init(bm_sampler_t *out_sampler,
                                        const bm_sampling_t *settings,
                                        uint64_t seed, uint32_t *order,
                                        uint32_t count);

// Returns the next token. Changes `logits`, of which there are as many as
// tokens, as the penalty says: `seen` has the tokens that have been there. Of
// equally likely ones the first counts; NaN is never likely.
uint32_t bm_sampler_next(bm_sampler_t *sampler, float *logits,
                         const uint32_t *seen, size_t seen_count);

// Returns e^x for x <= 0, to 2 units in the last place; 0 for results that are
// no normal numbers.
float bm_exp(float x);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_TEXT_SAMPLER_H_
