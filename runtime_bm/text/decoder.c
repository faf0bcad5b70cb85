#include "runtime_bm/text/strings.h"
#include "runtime_bm/text/tokenizer.h"
#include "runtime_bm/text/utf8.h"

#define BM_FILE BM_FILE_DECODER

// U+FFFD, for what is no character.
static const uint8_t kReplacement[] = {0xEF, 0xBF, 0xBD};
// U+2581, which stands for a space.
static const uint8_t kMark[] = {0xE2, 0x96, 0x81};

typedef struct writer_t {
  uint8_t *text;
  size_t size;
} writer_t;

static void put(writer_t *writer, const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) writer->text[writer->size++] = bytes[i];
}

// Takes the next byte. Bytes that end too early, or begin nothing, are one
// replacement.
static void take_byte(bm_decoder_t *decoder, uint8_t byte, writer_t *writer) {
  if (decoder->pending_size != 0) {
    if (bm_utf8_continues(decoder->pending[0], decoder->pending_size, byte)) {
      decoder->pending[decoder->pending_size++] = byte;
      if (decoder->pending_size == bm_utf8_size(decoder->pending[0])) {
        put(writer, decoder->pending, decoder->pending_size);
        decoder->pending_size = 0;
      }
      return;
    }
    put(writer, kReplacement, sizeof(kReplacement));
    decoder->pending_size = 0;
  }
  const uint32_t size = bm_utf8_size(byte);
  if (size == 0) {
    put(writer, kReplacement, sizeof(kReplacement));
  } else if (size == 1) {
    put(writer, &byte, 1);
  } else {
    decoder->pending[decoder->pending_size++] = byte;
  }
}

static bool is_special(const bm_numbers_t *specials, uint32_t id) {
  uint32_t low = 0;
  uint32_t high = specials->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint32_t found = bm_numbers_at(specials, middle);
    if (found == id) return true;
    if (found < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return false;
}

static bool is_mark(bm_cspan_t text, size_t at) {
  return text.size - at >= sizeof(kMark) && text.data[at] == kMark[0] &&
         text.data[at + 1] == kMark[1] && text.data[at + 2] == kMark[2];
}

bm_status_t bm_decoder_init(bm_decoder_t *out_decoder,
                            const bm_tokenizer_t *tokenizer) {
  BM_CHECK((tokenizer->tables->flags & BM_TOKENIZER_NO_DECODER) == 0,
           UNIMPLEMENTED);
  const bm_decoder_t decoder = {.tables = tokenizer->tables};
  *out_decoder = decoder;
  return bm_ok();
}

bm_status_t bm_decoder_take(bm_decoder_t *decoder, uint32_t id, char *text,
                            size_t capacity, size_t *out_size) {
  const bm_tokenizer_tables_t *tables = decoder->tables;
  BM_CHECK(id < tables->tokens.strings.ends.count, INVALID_ARGUMENT);
  BM_CHECK(capacity >= BM_DECODER_BYTES((size_t)tables->longest),
           RESOURCE_EXHAUSTED);
  writer_t writer = {(uint8_t *)text, 0};
  *out_size = 0;
  if (is_special(&tables->specials, id)) return bm_ok();
  const bm_cspan_t token = bm_strings_at(&tables->tokens.strings, id);
  const uint32_t drops =
      decoder->is_begun
          ? 0
          : tables->flags & (BM_TOKENIZER_DROP_MARK | BM_TOKENIZER_DROP_MARKS);
  bool has_dropped = false;
  for (size_t at = 0; at < token.size;) {
    if ((tables->flags & BM_TOKENIZER_MARKS) == 0 || !is_mark(token, at)) {
      take_byte(decoder, token.data[at++], &writer);
      continue;
    }
    const bool drop = drops == BM_TOKENIZER_DROP_MARKS ||
                      (drops != 0 && at == 0 && !has_dropped);
    if (!drop) take_byte(decoder, ' ', &writer);
    has_dropped = true;
    at += sizeof(kMark);
  }
  decoder->is_begun = 1;
  *out_size = writer.size;
  return bm_ok();
}

bm_status_t bm_decoder_end(bm_decoder_t *decoder, char *text, size_t capacity,
                           size_t *out_size) {
  BM_CHECK(capacity >= sizeof(kReplacement), RESOURCE_EXHAUSTED);
  writer_t writer = {(uint8_t *)text, 0};
  if (decoder->pending_size != 0) {
    put(&writer, kReplacement, sizeof(kReplacement));
  }
  decoder->pending_size = 0;
  *out_size = writer.size;
  return bm_ok();
}
