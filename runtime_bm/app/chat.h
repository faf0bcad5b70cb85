// A conversation with a language model at a serial terminal: what is typed goes
// through the tokenizer, the model's entry points and the sampler, and the
// answer appears as it comes.
//
// The model has the entry points `prefill`, which takes some tokens, and
// `decode`, which takes one. Both go on behind the tokens that they took
// before, and return the likeliest next token and the logits of all.
#ifndef RUNTIME_BM_APP_CHAT_H_
#define RUNTIME_BM_APP_CHAT_H_

#include <stdint.h>

#include "runtime_bm/bm.h"
#include "runtime_bm/text/sampler.h"
#include "runtime_bm/text/tokenizer.h"

BM_EXTERN_C_BEGIN

// A text, or memory for one.
typedef struct bm_chat_text_t {
  char *bytes;
  size_t size;
} bm_chat_text_t;

// What the build knows of the conversation; it writes bm_chat_settings.
typedef struct bm_chat_settings_t {
  const bm_tokenizer_tables_t *tokenizer;
  // What comes before the first typed line, between a line and its answer, and
  // between an answer and the next line.
  const char *first;
  const char *answer;
  const char *next;
  // Tokens, and texts, that end an answer.
  const uint32_t *stops;
  uint32_t stop_count;
  const char *const *stop_texts;
  uint32_t stop_text_count;
  uint32_t context;      // tokens that the model can take
  uint32_t most_tokens;  // of an answer
  bm_sampling_t sampling;
  uint64_t seed;
  // Memory: a line; a text for the tokenizer; a piece of an answer, with what
  // may become one of `stop_texts`; the tokens so far (`context` of them); the
  // sampler's; the tokenizer's.
  bm_chat_text_t line;
  bm_chat_text_t text;
  bm_chat_text_t piece;
  uint32_t *tokens;
  uint32_t *order;
  bm_span_t scratch;
} bm_chat_settings_t;

extern const bm_chat_settings_t bm_chat_settings;

// Talks until somebody types /quit. Errors: those of the model and of the
// tokenizer, which the terminal does not recover from; INVALID_ARGUMENT when
// the model's entry points are not as above.
BM_MUST_USE bm_status_t bm_chat(const bm_model_t *model,
                                const bm_chat_settings_t *settings);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_CHAT_H_
