// Takes sentences from a serial terminal, and prints how similar each is to the
// first one: docs/how-to/text-on-the-target.md.
#include "runtime_bm/app/boot.h"
#include "runtime_bm/app/console.h"
#include "runtime_bm/app/models.h"
#include "runtime_bm/app/terminal.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/text/tokenizer.h"

#define BM_FILE BM_FILE_APPLICATION

// The build makes it (bm_tokenizer).
extern const bm_tokenizer_tables_t bert_tokenizer;

enum {
  LINE_BYTES = 512,
  // Accents and ideographs take more room once they are apart.
  TEXT_BYTES = 3 * LINE_BYTES,
  MAX_SENTENCES = 16,
};

static const char kHelp[] =
    "Type sentences, one a line. Those up to an empty line are compared with "
    "the first one; /quit ends.\n";

static bm_tokenizer_t tokenizer;
static _Alignas(8) uint8_t scratch[BM_TOKENIZER_SCRATCH_BYTES(TEXT_BYTES)];
static uint32_t ids[TEXT_BYTES];
static char lines[MAX_SENTENCES][LINE_BYTES];
static size_t sizes[MAX_SENTENCES];

// Writes the tokens of a sentence to a row of the model's inputs. What does not
// fit between the tokens around a sentence is cut off, as the framework does.
static bm_status_t set_row(const char *line, size_t size, int64_t *row,
                           int64_t *mask, uint32_t width) {
  const bm_numbers_t *prefix = &bert_tokenizer.prefix;
  const bm_numbers_t *suffix = &bert_tokenizer.suffix;
  const uint32_t room = width - prefix->count - suffix->count;
  size_t count;
  BM_TRY(bm_tokenizer_encode(&tokenizer, line, size, BM_ENCODE_PLAIN, ids,
                             TEXT_BYTES, &count));
  if (count > room) count = room;
  memset(row, 0, width * sizeof(*row));
  memset(mask, 0, width * sizeof(*mask));
  uint32_t at = 0;
  for (uint32_t i = 0; i < prefix->count; ++i) {
    row[at++] = bm_numbers_at(prefix, i);
  }
  for (uint32_t i = 0; i < count; ++i) row[at++] = ids[i];
  for (uint32_t i = 0; i < suffix->count; ++i) {
    row[at++] = bm_numbers_at(suffix, i);
  }
  for (uint32_t i = 0; i < at; ++i) mask[i] = 1;
  return bm_ok();
}

// Encodes all rows; those without a sentence are empty ones.
static bm_status_t set_inputs(const bm_model_t *model, uint32_t count) {
  bm_tensor_t rows, masks;
  BM_TRY(bm_model_input(model, 0, &rows));
  BM_TRY(bm_model_input(model, 1, &masks));
  const uint32_t width = rows.shape[1];
  for (uint32_t i = 0; i < rows.shape[0]; ++i) {
    const size_t at = (size_t)i * width;
    BM_TRY(set_row(lines[i], i < count ? sizes[i] : 0,
                   (int64_t *)rows.data + at, (int64_t *)masks.data + at,
                   width));
  }
  return bm_ok();
}

static void print_similarity(const float *first, const float *vector,
                             uint32_t size, uint32_t index) {
  float sum = 0.0f;
  for (uint32_t i = 0; i < size; ++i) sum += first[i] * vector[i];
  bm_text_t line;
  bm_text_clear(&line);
  bm_text_string(&line, sum < 0.0f ? "  " : "   ");
  bm_text_fixed(&line, (double)sum, 4);
  bm_text_string(&line, "  ");
  bm_hal_console_write(line.bytes, line.size);
  bm_hal_console_write(lines[index], sizes[index]);
  bm_hal_console_write("\n", 1);
}

static bm_status_t compare(bm_model_t *model, uint32_t count) {
  bm_tensor_t vectors;
  BM_TRY(set_inputs(model, count));
  BM_TRY(bm_model_run(model));
  BM_TRY(bm_model_output(model, 0, &vectors));
  const float *rows = vectors.data;
  const uint32_t size = vectors.shape[1];
  for (uint32_t i = 1; i < count; ++i) {
    print_similarity(rows, rows + (size_t)i * size, size, i);
  }
  return bm_ok();
}

// Reads sentences until there are as many as the model takes, or an empty line.
// Returns how many; 0 after /quit.
static uint32_t read_sentences(uint32_t most) {
  static const char kQuit[] = "/quit";
  for (uint32_t count = 0; count < most;) {
    bm_terminal_print(count == 0 ? "> " : "  ");
    const size_t size = bm_terminal_line(lines[count], LINE_BYTES);
    if (size == sizeof(kQuit) - 1 && memcmp(lines[count], kQuit, size) == 0) {
      return 0;
    }
    if (size == 0 && count > 1) return count;
    if (size == 0) continue;
    sizes[count++] = size;
  }
  return most;
}

static bm_status_t talk(void) {
  static bm_model_t model;
  bm_tensor_t rows;
  const bm_span_t span = {scratch, sizeof(scratch)};
  BM_TRY(bm_firmware_init(&bm_firmware_models[0], &model));
  BM_TRY(bm_tokenizer_init(&tokenizer, &bert_tokenizer, span));
  BM_TRY(bm_model_input(&model, 0, &rows));
  BM_CHECK(rows.rank == 2 && rows.dtype == BM_DTYPE_I64 &&
               rows.shape[0] <= MAX_SENTENCES,
           INVALID_ARGUMENT);
  bm_terminal_print(kHelp);
  for (;;) {
    const uint32_t count = read_sentences(rows.shape[0]);
    if (count == 0) return bm_ok();
    BM_TRY(compare(&model, count));
  }
}

int main(void) {
  const int unfit = bm_boot();
  if (unfit != 0) return unfit;
  const bm_status_t status = talk();
  if (status.bits == 0) return 0;
  bm_text_t line;
  bm_console_error(&line, status);
  bm_text_string(&line, "the comparison ended: ");
  bm_status_text(&line, status);
  bm_console_write(&line);
  return BM_EXIT_ERROR;
}
