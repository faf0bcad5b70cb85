// Encodes and decodes what it reads, for tests: each request is a kind, flags
// and a number of bytes, in 32 bits, and those bytes. Kind 0: a text; the
// answer is a status word, the number of its tokens, and the tokens. Kind 1:
// tokens; the answer is a status word, the number of bytes, and the text.
#include <stdio.h>
#include <stdlib.h>

#include "runtime_bm/text/tokenizer.h"

extern const bm_tokenizer_tables_t TABLES;

enum { TEXT_BYTES = 1 << 18 };

static _Alignas(8) uint8_t scratch[BM_TOKENIZER_SCRATCH_BYTES(TEXT_BYTES)];
static _Alignas(8) char request[TEXT_BYTES];
static uint32_t ids[TEXT_BYTES];
static char text[BM_DECODER_BYTES(TEXT_BYTES)];

static bm_status_t decode(const bm_tokenizer_t *tokenizer, size_t count,
                          size_t *out_size) {
  bm_decoder_t decoder;
  size_t more = 0;
  *out_size = 0;
  BM_TRY(bm_decoder_init(&decoder, tokenizer));
  for (size_t i = 0; i < count; ++i) {
    BM_TRY(bm_decoder_take(&decoder, ((const uint32_t *)request)[i],
                           text + *out_size, sizeof(text) - *out_size, &more));
    *out_size += more;
  }
  BM_TRY(bm_decoder_end(&decoder, text + *out_size, sizeof(text) - *out_size,
                        &more));
  *out_size += more;
  return bm_ok();
}

static void answer(bm_status_t status, size_t count, const void *data,
                   size_t each) {
  const uint32_t head[] = {status.bits, status.bits == 0 ? (uint32_t)count : 0};
  fwrite(head, sizeof(head), 1, stdout);
  fwrite(data, each, head[1], stdout);
  fflush(stdout);
}

int main(void) {
  bm_tokenizer_t tokenizer;
  const bm_span_t span = {scratch, sizeof(scratch)};
  const bm_status_t started = bm_tokenizer_init(&tokenizer, &TABLES, span);
  if (started.bits != 0) {
    fprintf(stderr, "the tables are refused: %08x\n", started.bits);
    return 1;
  }
  uint32_t head[3];
  while (fread(head, sizeof(head), 1, stdin) == 1) {
    size_t count = 0;
    if (head[2] > sizeof(request)) return 1;
    if (fread(request, 1, head[2], stdin) != head[2]) return 1;
    if (head[0] == 0) {
      const bm_status_t status = bm_tokenizer_encode(
          &tokenizer, request, head[2], head[1], ids, TEXT_BYTES, &count);
      answer(status, count, ids, sizeof(ids[0]));
    } else {
      const bm_status_t status =
          decode(&tokenizer, head[2] / sizeof(ids[0]), &count);
      answer(status, count, text, 1);
    }
  }
  return 0;
}
