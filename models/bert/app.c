// Prints how similar each sentence is to the first one: the dot products of the
// vectors that the model computed, largest first.
#include <stdint.h>

#include "runtime_bm/app/hooks.h"
#include "runtime_bm/base/text.h"
#include "runtime_bm/bm.h"
#include "runtime_bm/hal/hal.h"

enum { MAX_SENTENCES = 16 };

extern const char bert_sentences[];
extern const char bert_sentences_end[];

typedef struct {
  const char *text;
  uint32_t length;
  float similarity;
} sentence_t;

static uint32_t split_lines(sentence_t *sentences) {
  uint32_t count = 0;
  const char *line = bert_sentences;
  for (const char *at = line; at < bert_sentences_end; ++at) {
    if (*at != '\n') continue;
    if (count == MAX_SENTENCES) break;
    sentences[count].text = line;
    sentences[count].length = (uint32_t)(at - line);
    ++count;
    line = at + 1;
  }
  return count;
}

static float dot(const float *a, const float *b, uint32_t size) {
  float sum = 0.0f;
  for (uint32_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

static void sort_by_similarity(sentence_t *sentences, uint32_t count) {
  for (uint32_t i = 1; i < count; ++i) {
    const sentence_t moved = sentences[i];
    uint32_t at = i;
    for (; at > 0 && sentences[at - 1].similarity < moved.similarity; --at) {
      sentences[at] = sentences[at - 1];
    }
    sentences[at] = moved;
  }
}

static void print_ranking(const sentence_t *sentences, uint32_t count) {
  bm_text_t line;
  bm_text_clear(&line);
  bm_text_string(&line, "Nearest to \"");
  bm_hal_console_write(line.bytes, line.size);
  bm_hal_console_write(sentences[0].text, sentences[0].length);
  bm_hal_console_write("\":\n", 3);
  for (uint32_t i = 1; i < count; ++i) {
    bm_text_clear(&line);
    bm_text_string(&line, sentences[i].similarity < 0.0f ? "  " : "   ");
    bm_text_fixed(&line, (double)sentences[i].similarity, 4);
    bm_text_string(&line, "  ");
    bm_hal_console_write(line.bytes, line.size);
    bm_hal_console_write(sentences[i].text, sentences[i].length);
    bm_hal_console_write("\n", 1);
  }
}

void bm_app_begin(const char *name, const bm_model_t *model) {
  (void)name;
  (void)model;
}

void bm_app_case(const char *name, const bm_model_t *model,
                 uint32_t case_index) {
  (void)name;
  (void)case_index;
  sentence_t sentences[MAX_SENTENCES];
  const uint32_t count = split_lines(sentences);
  bm_tensor_t vectors;
  if (count == 0 || bm_model_output(model, 0, &vectors).bits != 0) return;
  if (vectors.shape[0] < count) return;
  const float *rows = (const float *)vectors.data;
  const uint32_t size = vectors.shape[1];
  for (uint32_t i = 1; i < count; ++i) {
    sentences[i].similarity = dot(rows, rows + (size_t)i * size, size);
  }
  sort_by_similarity(sentences + 1, count - 1);
  print_ranking(sentences, count);
}

void bm_app_end(const char *name) { (void)name; }
