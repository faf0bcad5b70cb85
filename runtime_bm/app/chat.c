#include "runtime_bm/app/chat.h"

#include <stdbool.h>

#include "runtime_bm/app/terminal.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/base/text.h"
#include "runtime_bm/hal/hal.h"

#define BM_FILE BM_FILE_CHAT

static const char kHelp[] =
    "Type a line, and the model answers. /reset begins anew, /quit ends.\n";

typedef struct chat_t {
  const bm_chat_settings_t *settings;
  bm_model_t prefill;
  bm_model_t decode;
  uint32_t chunk;  // tokens that prefill takes
  bm_tokenizer_t tokenizer;
  bm_sampler_t sampler;
  uint32_t count;   // tokens that the model has taken
  uint32_t next;    // the token that the model would go on with
  size_t held;      // bytes of `piece` that may become a text that ends all
  bool is_stopped;  // such a text has come
} chat_t;

// Returns a view of what holds as many integers as `count`, or
// INVALID_ARGUMENT.
static bm_status_t tokens_of(const bm_model_t *entry, bm_tensor_t *out_tensor,
                             uint32_t *out_count) {
  BM_TRY(bm_model_input(entry, 0, out_tensor));
  const uint32_t dtype = out_tensor->dtype;
  BM_CHECK(dtype == BM_DTYPE_I64 || dtype == BM_DTYPE_I32, INVALID_ARGUMENT);
  const size_t each = dtype == BM_DTYPE_I64 ? sizeof(int64_t) : sizeof(int32_t);
  *out_count = (uint32_t)(out_tensor->bytes / each);
  return bm_ok();
}

static bm_status_t open(chat_t *chat, const bm_model_t *model) {
  const bm_chat_settings_t *settings = chat->settings;
  bm_tensor_t tensor;
  uint32_t count;
  BM_TRY(bm_model_entry(model, "prefill", &chat->prefill));
  BM_TRY(bm_model_entry(model, "decode", &chat->decode));
  BM_TRY(tokens_of(&chat->prefill, &tensor, &chat->chunk));
  BM_TRY(tokens_of(&chat->decode, &tensor, &count));
  BM_CHECK(chat->chunk != 0 && count == 1, INVALID_ARGUMENT);
  BM_TRY(bm_model_output(&chat->decode, 1, &tensor));
  // A model may have more logits than the vocabulary has tokens, to fill up.
  const uint32_t tokens = settings->tokenizer->tokens.strings.ends.count;
  BM_CHECK(
      tensor.dtype == BM_DTYPE_F32 && tensor.bytes / sizeof(float) >= tokens,
      INVALID_ARGUMENT);
  BM_TRY(bm_tokenizer_init(&chat->tokenizer, settings->tokenizer,
                           settings->scratch));
  return bm_sampler_init(&chat->sampler, &settings->sampling, settings->seed,
                         settings->order, tokens);
}

// Runs an entry point on the next tokens, and chooses what follows them.
static bm_status_t take(chat_t *chat, bm_model_t *entry, const uint32_t *ids) {
  bm_tensor_t tensor;
  uint32_t count;
  BM_TRY(tokens_of(entry, &tensor, &count));
  for (uint32_t i = 0; i < count; ++i) {
    if (tensor.dtype == BM_DTYPE_I64) {
      ((int64_t *)tensor.data)[i] = ids[i];
    } else {
      ((int32_t *)tensor.data)[i] = (int32_t)ids[i];
    }
  }
  BM_TRY(bm_model_run(entry));
  chat->count += count;
  BM_TRY(bm_model_output(entry, 1, &tensor));
  // The logits of the last token.
  const uint32_t tokens = chat->sampler.count;
  const uint32_t row = tensor.shape[tensor.rank - 1];
  BM_CHECK(row >= tokens, INVALID_ARGUMENT);
  float *logits = (float *)tensor.data + tensor.bytes / sizeof(float) - row;
  chat->next = bm_sampler_next(&chat->sampler, logits, chat->settings->tokens,
                               chat->count);
  return bm_ok();
}

// Lets the model take the tokens behind those that it has taken, up to `end`.
static bm_status_t take_until(chat_t *chat, uint32_t end) {
  while (chat->count < end) {
    const uint32_t *ids = chat->settings->tokens + chat->count;
    const bool fits = end - chat->count >= chat->chunk;
    BM_TRY(take(chat, fits ? &chat->prefill : &chat->decode, ids));
  }
  return bm_ok();
}

static bm_status_t append(bm_chat_text_t *text, size_t *size, const char *more,
                          size_t more_size) {
  BM_CHECK(more_size <= text->size - *size, RESOURCE_EXHAUSTED);
  memcpy(text->bytes + *size, more, more_size);
  *size += more_size;
  return bm_ok();
}

static size_t size_of(const char *string) {
  size_t size = 0;
  while (string[size] != '\0') ++size;
  return size;
}

// Encodes what is said next behind the tokens so far. Error:
// RESOURCE_EXHAUSTED when the context has no room for it.
static bm_status_t encode_turn(chat_t *chat, size_t line_size,
                               size_t *out_count) {
  const bm_chat_settings_t *settings = chat->settings;
  const char *before = chat->count == 0 ? settings->first : settings->next;
  bm_chat_text_t text = settings->text;
  size_t size = 0;
  BM_TRY(append(&text, &size, before, size_of(before)));
  const bm_range_t typed = {size, size + line_size};
  BM_TRY(append(&text, &size, settings->line.bytes, line_size));
  BM_TRY(append(&text, &size, settings->answer, size_of(settings->answer)));
  return bm_tokenizer_encode_typed(&chat->tokenizer, text.bytes, size, typed,
                                   settings->tokens + chat->count,
                                   settings->context - chat->count, out_count);
}

static bool ends_answer(const bm_chat_settings_t *settings, uint32_t token) {
  for (uint32_t i = 0; i < settings->stop_count; ++i) {
    if (settings->stops[i] == token) return true;
  }
  return false;
}

static bool is_equal(const char *a, const char *b, size_t size) {
  return memcmp(a, b, size) == 0;
}

// Prints what has come of the answer, up to a text that ends it, and holds back
// what may become one.
static void show(chat_t *chat, size_t size) {
  const bm_chat_settings_t *settings = chat->settings;
  char *piece = settings->piece.bytes;
  size_t shown = 0;
  for (; shown < size && !chat->is_stopped; ++shown) {
    bool may_stop = false;
    for (uint32_t i = 0; i < settings->stop_text_count; ++i) {
      const char *stop = settings->stop_texts[i];
      const size_t stop_size = size_of(stop);
      const size_t rest = size - shown;
      const size_t both = rest < stop_size ? rest : stop_size;
      if (!is_equal(piece + shown, stop, both)) continue;
      if (both == stop_size) chat->is_stopped = true;
      may_stop = true;
    }
    if (may_stop) break;
  }
  bm_hal_console_write(piece, shown);
  chat->held = chat->is_stopped ? 0 : size - shown;
  memmove(piece, piece + shown, chat->held);
}

// Prints the text that ends with a token.
static bm_status_t say(chat_t *chat, bm_decoder_t *decoder, uint32_t token) {
  const bm_chat_text_t *piece = &chat->settings->piece;
  size_t size;
  BM_TRY(bm_decoder_take(decoder, token, piece->bytes + chat->held,
                         piece->size - chat->held, &size));
  show(chat, chat->held + size);
  return bm_ok();
}

// Prints what is still held back.
static bm_status_t say_rest(chat_t *chat, bm_decoder_t *decoder) {
  const bm_chat_text_t *piece = &chat->settings->piece;
  size_t size;
  BM_TRY(bm_decoder_end(decoder, piece->bytes + chat->held,
                        piece->size - chat->held, &size));
  if (!chat->is_stopped) bm_hal_console_write(piece->bytes, chat->held + size);
  chat->held = 0;
  return bm_ok();
}

static void report(uint64_t prompt, uint64_t prompt_cycles, uint64_t answer,
                   uint64_t cycles) {
  bm_text_t line;
  bm_text_clear(&line);
  bm_text_string(&line, "\n(");
  bm_text_u64(&line, prompt);
  bm_text_string(&line, " tokens read in ");
  bm_text_u64(&line, prompt_cycles);
  bm_text_string(&line, " cycles, ");
  bm_text_u64(&line, answer);
  bm_text_string(&line, " written in ");
  bm_text_u64(&line, answer == 0 ? 0 : cycles / answer);
  bm_text_string(&line, " cycles each)\n");
  bm_hal_console_write(line.bytes, line.size);
}

static void say_full(const bm_chat_settings_t *settings) {
  bm_text_t line;
  bm_text_clear(&line);
  bm_text_string(&line, "The context of ");
  bm_text_u64(&line, settings->context);
  bm_text_string(&line, " tokens has no room for more: /reset begins anew.\n");
  bm_hal_console_write(line.bytes, line.size);
}

// Answers what the last `prompt` tokens say.
static bm_status_t answer(chat_t *chat, uint32_t prompt) {
  const bm_chat_settings_t *settings = chat->settings;
  const uint64_t begin = bm_hal_cycles();
  BM_TRY(take_until(chat, chat->count + prompt));
  const uint64_t first = bm_hal_cycles();
  bm_decoder_t decoder;
  BM_TRY(bm_decoder_init(&decoder, &chat->tokenizer));
  uint32_t written = 0;
  chat->held = 0;
  chat->is_stopped = false;
  while (written < settings->most_tokens &&
         !ends_answer(settings, chat->next)) {
    BM_TRY(say(chat, &decoder, chat->next));
    if (chat->is_stopped || chat->count == settings->context) break;
    settings->tokens[chat->count] = chat->next;
    BM_TRY(take_until(chat, chat->count + 1));
    ++written;
  }
  BM_TRY(say_rest(chat, &decoder));
  report(prompt, first - begin, written, bm_hal_cycles() - first);
  if (chat->count == settings->context) say_full(settings);
  return bm_ok();
}

static bool is_command(const bm_chat_settings_t *settings, size_t size,
                       const char *command) {
  return size == size_of(command) &&
         is_equal(settings->line.bytes, command, size);
}

bm_status_t bm_chat(const bm_model_t *model,
                    const bm_chat_settings_t *settings) {
  chat_t chat = {.settings = settings};
  BM_TRY(open(&chat, model));
  bm_terminal_print(kHelp);
  for (;;) {
    bm_terminal_print("> ");
    const size_t size =
        bm_terminal_line(settings->line.bytes, settings->line.size);
    if (size == 0) continue;
    if (is_command(settings, size, "/quit")) return bm_ok();
    if (is_command(settings, size, "/reset")) {
      BM_TRY(bm_model_reset(&chat.decode));
      chat.count = 0;
      continue;
    }
    if (settings->line.bytes[0] == '/') {
      bm_terminal_print(kHelp);
      continue;
    }
    size_t prompt;
    const bm_status_t status = encode_turn(&chat, size, &prompt);
    if (bm_status_code(status) == BM_CODE_RESOURCE_EXHAUSTED) {
      say_full(settings);
      continue;
    }
    BM_TRY(status);
    if (prompt == 0) {
      bm_terminal_print("The model has no token for any of this.\n");
      continue;
    }
    BM_TRY(answer(&chat, (uint32_t)prompt));
  }
}
