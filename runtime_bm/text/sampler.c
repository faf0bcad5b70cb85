#include "runtime_bm/text/sampler.h"

#include <stdbool.h>

#include "runtime_bm/base/memory.h"

#define BM_FILE BM_FILE_SAMPLER

// Every product is rounded, so that harts with and without fused products, and
// those without floats, choose the same tokens.
#pragma STDC FP_CONTRACT OFF

float bm_exp(float x) {
  // The smallest normal number is e^-87.3.
  if (!(x > -87.0f)) return 0.0f;
  // x = power * ln 2 + rest, |rest| <= ln 2 / 2. ln 2 is in two parts, of which
  // the first has so few bits that the product is exact.
  const float scaled = x * 1.44269504f;
  const int32_t power = (int32_t)(scaled - 0.5f);
  const float rest =
      (x - (float)power * 0.693359375f) - (float)power * -2.12194440e-4f;
  // The series of e^rest; what is left out is below half a unit.
  float sum = 1.0f / 5040.0f;
  sum = sum * rest + 1.0f / 720.0f;
  sum = sum * rest + 1.0f / 120.0f;
  sum = sum * rest + 1.0f / 24.0f;
  sum = sum * rest + 1.0f / 6.0f;
  sum = sum * rest + 0.5f;
  sum = sum * rest * rest + rest + 1.0f;
  const uint32_t bits = (uint32_t)(power + 127) << 23;
  float factor;
  memcpy(&factor, &bits, sizeof(factor));
  return sum * factor;
}

bm_status_t bm_sampler_init(bm_sampler_t *out_sampler,
                            const bm_sampling_t *settings, uint64_t seed,
                            uint32_t *order, uint32_t count) {
  BM_CHECK(count != 0 && order != NULL, INVALID_ARGUMENT);
  BM_CHECK(settings->temperature >= 0.0f && settings->temperature <= 100.0f,
           INVALID_ARGUMENT);
  BM_CHECK(settings->top_p > 0.0f && settings->top_p <= 1.0f, INVALID_ARGUMENT);
  BM_CHECK(settings->repetition_penalty > 0.0f &&
               settings->repetition_penalty <= 100.0f,
           INVALID_ARGUMENT);
  const bm_sampler_t sampler = {*settings, seed, order, count};
  *out_sampler = sampler;
  return bm_ok();
}

// Returns a number from 0 up to, and not including, 1 (SplitMix64).
static float next_random(bm_sampler_t *sampler) {
  sampler->state += 0x9E3779B97F4A7C15u;
  uint64_t mixed = sampler->state;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
  mixed ^= mixed >> 31;
  return (float)(uint32_t)(mixed >> 40) * (1.0f / 16777216.0f);
}

// A token is penalized once, however often it has been there.
static void penalize(const bm_sampler_t *sampler, float *logits,
                     const uint32_t *seen, size_t seen_count) {
  const float penalty = sampler->settings.repetition_penalty;
  if (penalty == 1.0f) return;
  uint32_t *is_done = sampler->order;
  for (uint32_t i = 0; i < sampler->count; ++i) is_done[i] = 0;
  for (size_t i = 0; i < seen_count; ++i) {
    const uint32_t token = seen[i];
    if (token >= sampler->count || is_done[token] != 0) continue;
    is_done[token] = 1;
    logits[token] = logits[token] > 0.0f ? logits[token] / penalty
                                         : logits[token] * penalty;
  }
}

static bool is_likelier(const float *logits, uint32_t a, uint32_t b) {
  if (logits[a] > logits[b]) return true;
  if (logits[a] < logits[b]) return false;
  const bool a_is_number = logits[a] == logits[a];
  const bool b_is_number = logits[b] == logits[b];
  return a_is_number == b_is_number ? a < b : a_is_number;
}

static uint32_t likeliest(const float *logits, uint32_t count) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < count; ++i) {
    if (is_likelier(logits, i, best)) best = i;
  }
  return best;
}

// Lets a token sink in the heap of the first `count` in `order`.
static void sink(const float *logits, uint32_t *order, uint32_t count,
                 uint32_t at) {
  const uint32_t token = order[at];
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= count) break;
    if (child + 1 < count &&
        is_likelier(logits, order[child + 1], order[child])) {
      ++child;
    }
    if (!is_likelier(logits, order[child], token)) break;
    order[at] = order[child];
    at = child;
  }
  order[at] = token;
}

uint32_t bm_sampler_next(bm_sampler_t *sampler, float *logits,
                         const uint32_t *seen, size_t seen_count) {
  const bm_sampling_t *settings = &sampler->settings;
  const uint32_t count = sampler->count;
  uint32_t *order = sampler->order;
  penalize(sampler, logits, seen, seen_count);
  const uint32_t best = likeliest(logits, count);
  if (settings->temperature == 0.0f) return best;
  const float top = logits[best];
  const float temperature = settings->temperature;
  for (uint32_t i = 0; i < count; ++i) order[i] = i;
  for (uint32_t i = count / 2; i != 0; --i) sink(logits, order, count, i - 1);
  // The likeliest tokens go to the end of `order`, one after the other.
  const uint32_t kept =
      settings->top_k != 0 && settings->top_k < count ? settings->top_k : count;
  float all = 0.0f;
  for (uint32_t i = 0; i < kept; ++i) {
    const uint32_t last = count - 1 - i;
    const uint32_t token = order[0];
    order[0] = order[last];
    order[last] = token;
    sink(logits, order, last, 0);
    all += bm_exp((logits[token] - top) / temperature);
  }
  const float wanted = settings->top_p * all;
  float sum = 0.0f;
  uint32_t nucleus = 0;
  while (nucleus < kept && sum < wanted) {
    sum += bm_exp((logits[order[count - 1 - nucleus]] - top) / temperature);
    ++nucleus;
  }
  // An infinite logit is all there is to choose from.
  if (nucleus == 0) return best;
  const float chosen = next_random(sampler) * sum;
  float behind = 0.0f;
  for (uint32_t i = 0; i + 1 < nucleus; ++i) {
    const uint32_t token = order[count - 1 - i];
    behind += bm_exp((logits[token] - top) / temperature);
    if (behind > chosen) return token;
  }
  return order[count - nucleus];
}
