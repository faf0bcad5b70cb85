// Fuzzes tokenizers: whatever the text and the tables, tables are refused or
// texts stay in their buffers, and tokens are tokens.
#include <stdlib.h>

#include "runtime_bm/testing/fake_tokenizer.h"
#include "runtime_bm/testing/fuzz/fuzz.h"
#include "runtime_bm/text/tokenizer.h"

enum { TEXT_BYTES = 200 };

static void decode(const bm_tokenizer_t *tokenizer, const uint32_t *ids,
                   size_t count) {
  bm_decoder_t decoder;
  char text[BM_DECODER_BYTES(FAKE_LONGEST)];
  size_t size;
  if (bm_decoder_init(&decoder, tokenizer).bits != 0) return;
  for (size_t i = 0; i < count; ++i) {
    // A table may say that its tokens are longer than they are.
    if (bm_decoder_take(&decoder, ids[i], text, sizeof(text), &size).bits !=
        0) {
      return;
    }
    FUZZ_ASSERT(size <= sizeof(text));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fake_tokenizer_t fake;
  static _Alignas(8) uint8_t scratch[BM_TOKENIZER_SCRATCH_BYTES(TEXT_BYTES)];
  fuzz_input_t input = {data, size};
  fake_tokenizer_make(&fake, fuzz_byte(&input) % BM_TOKENIZER_COUNT);
  fake.tables.flags ^= fuzz_byte(&input);
  for (uint32_t changes = fuzz_byte(&input) % 4; changes != 0; --changes) {
    fake.bytes[fuzz_half(&input) % fake.size] = (uint8_t)fuzz_byte(&input);
  }
  const bm_span_t span = {scratch, sizeof(scratch)};
  bm_tokenizer_t tokenizer;
  if (bm_tokenizer_init(&tokenizer, &fake.tables, span).bits != 0) return 0;
  const uint32_t flags = fuzz_byte(&input) % 4;
  uint32_t ids[TEXT_BYTES];
  size_t count = 0;
  const bm_status_t status =
      bm_tokenizer_encode(&tokenizer, (const char *)input.data, input.size,
                          flags, ids, TEXT_BYTES, &count);
  if (status.bits != 0) return 0;
  FUZZ_ASSERT(count <= TEXT_BYTES);
  for (size_t i = 0; i < count; ++i) FUZZ_ASSERT(ids[i] < FAKE_TOKENS);
  decode(&tokenizer, ids, count);
  return 0;
}
