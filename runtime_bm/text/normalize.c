#include "runtime_bm/text/normalize.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/text/strings.h"
#include "runtime_bm/text/utf8.h"

#define BM_FILE BM_FILE_NORMALIZE

// Hangul syllables are numbered by their parts.
enum {
  SYLLABLES = 0xAC00,
  LEADS = 0x1100,
  VOWELS = 0x1161,
  // The one before the first, which stands for none.
  TAILS = 0x11A7,
  LEAD_COUNT = 19,
  VOWEL_COUNT = 21,
  TAIL_COUNT = 28,
  SYLLABLE_COUNT = LEAD_COUNT * VOWEL_COUNT * TAIL_COUNT,
};

bm_status_t bm_bytes_put(bm_bytes_t *bytes, bm_cspan_t more) {
  BM_CHECK(more.size <= bytes->capacity - bytes->size, RESOURCE_EXHAUSTED);
  memcpy(bytes->data + bytes->size, more.data, more.size);
  bytes->size += more.size;
  return bm_ok();
}

static bm_status_t put_character(bm_bytes_t *bytes, uint32_t code_point) {
  uint8_t encoded[BM_UTF8_BYTES];
  const bm_cspan_t span = {encoded, bm_utf8_put(encoded, code_point)};
  return bm_bytes_put(bytes, span);
}

static bool begins_with(const bm_bytes_t *text, size_t at, bm_cspan_t what) {
  return text->size - at >= what.size &&
         memcmp(text->data + at, what.data, what.size) == 0;
}

// Appends what a character becomes.
static bm_status_t put_template(bm_bytes_t *out, bm_cspan_t template,
                                bm_cspan_t character) {
  for (size_t i = 0; i < template.size; ++i) {
    const bm_cspan_t byte = {template.data + i, 1};
    BM_TRY(bm_bytes_put(out, template.data[i] == 0 ? character : byte));
  }
  return bm_ok();
}

static bm_status_t map(const bm_normalizer_t *step, const bm_bytes_t *text,
                       bm_bytes_t *out, bool *is_first) {
  for (size_t at = 0; at < text->size;) {
    const size_t begin = at;
    const uint32_t code_point = bm_utf8_next(text->data, &at);
    const uint32_t change = bm_code_points_at(&step->code_points, code_point);
    const uint32_t syllable = code_point - SYLLABLES;
    const bm_cspan_t same = {text->data + begin, at - begin};
    if (change != 0) {
      const bm_cspan_t template = bm_strings_at(&step->texts, change - 1);
      BM_TRY(put_template(out, template, same));
      // What follows is not the beginning.
      if (begin == 0 && template.size == 0) *is_first = false;
    } else if ((step->flags & BM_NORMALIZER_HANGUL) != 0 &&
               syllable < SYLLABLE_COUNT) {
      const uint32_t tail = syllable % TAIL_COUNT;
      const uint32_t pair = syllable / TAIL_COUNT;
      BM_TRY(put_character(out, LEADS + pair / VOWEL_COUNT));
      BM_TRY(put_character(out, VOWELS + pair % VOWEL_COUNT));
      if (tail != 0) BM_TRY(put_character(out, TAILS + tail));
    } else {
      BM_TRY(bm_bytes_put(out, same));
    }
  }
  return bm_ok();
}

// Appends the marks from `begin` to `end` by their classes. There are few
// classes, so each is looked for in all of the marks.
static bm_status_t put_marks(const bm_normalizer_t *step, const uint8_t *text,
                             size_t begin, size_t end, bm_bytes_t *out) {
  for (uint32_t done = 0; done != BM_NONE;) {
    uint32_t next = BM_NONE;
    for (size_t at = begin; at < end;) {
      const size_t from = at;
      const uint32_t class =
          bm_code_points_at(&step->code_points, bm_utf8_next(text, &at));
      if (class == done) {
        const bm_cspan_t mark = {text + from, at - from};
        BM_TRY(bm_bytes_put(out, mark));
      } else if (class > done && class < next) {
        next = class;
      }
    }
    done = next;
  }
  return bm_ok();
}

static bm_status_t order(const bm_normalizer_t *step, const bm_bytes_t *text,
                         bm_bytes_t *out) {
  for (size_t at = 0; at < text->size;) {
    const size_t begin = at;
    size_t end = at;
    while (at < text->size &&
           bm_code_points_at(&step->code_points,
                             bm_utf8_next(text->data, &at)) != 0) {
      end = at;
    }
    BM_TRY(put_marks(step, text->data, begin, end, out));
    // What ended the marks, if it was not the end of the text.
    const bm_cspan_t starter = {text->data + end, at - end};
    BM_TRY(bm_bytes_put(out, starter));
  }
  return bm_ok();
}

// Returns what two characters become together, or BM_NONE.
static uint32_t composed(const bm_numbers_t *pairs, uint32_t first,
                         uint32_t second) {
  const uint32_t lead = first - LEADS;
  const uint32_t vowel = second - VOWELS;
  if (lead < LEAD_COUNT && vowel < VOWEL_COUNT) {
    return SYLLABLES + (lead * VOWEL_COUNT + vowel) * TAIL_COUNT;
  }
  const uint32_t syllable = first - SYLLABLES;
  const uint32_t tail = second - TAILS;
  if (syllable < SYLLABLE_COUNT && syllable % TAIL_COUNT == 0 && tail != 0 &&
      tail < TAIL_COUNT) {
    return first + tail;
  }
  uint32_t low = 0;
  uint32_t high = pairs->count / 3;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint32_t a = bm_numbers_at(pairs, 3 * middle);
    const uint32_t b = bm_numbers_at(pairs, 3 * middle + 1);
    if (a == first && b == second) return bm_numbers_at(pairs, 3 * middle + 2);
    if (a < first || (a == first && b < second)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return BM_NONE;
}

// Puts another character into the place of the one from `at` to `end`.
static bm_status_t replace_character(bm_bytes_t *text, size_t at, size_t end,
                                     uint32_t code_point) {
  uint8_t encoded[BM_UTF8_BYTES];
  const uint32_t count = bm_utf8_put(encoded, code_point);
  const size_t behind = text->size - end;
  BM_CHECK(at + count + behind <= text->capacity, RESOURCE_EXHAUSTED);
  memmove(text->data + at + count, text->data + end, behind);
  memcpy(text->data + at, encoded, count);
  text->size = at + count + behind;
  return bm_ok();
}

// `text` is in canonical order.
static bm_status_t compose(const bm_normalizer_t *step, const bm_bytes_t *text,
                           bm_bytes_t *out) {
  bool has_starter = false;
  size_t starter_at = 0;
  uint32_t last_class = 0;
  for (size_t at = 0; at < text->size;) {
    const uint32_t code_point = bm_utf8_next(text->data, &at);
    const uint32_t class = bm_code_points_at(&step->code_points, code_point);
    if (has_starter && (last_class == 0 || last_class < class)) {
      size_t end = starter_at;
      const uint32_t starter = bm_utf8_next(out->data, &end);
      const uint32_t both = composed(&step->pairs, starter, code_point);
      if (both != BM_NONE) {
        BM_TRY(replace_character(out, starter_at, end, both));
        continue;
      }
    }
    if (class == 0) {
      has_starter = true;
      starter_at = out->size;
    }
    last_class = class;
    BM_TRY(put_character(out, code_point));
  }
  return bm_ok();
}

static bm_status_t replace(const bm_normalizer_t *step, const bm_bytes_t *text,
                           bm_bytes_t *out) {
  const bm_cspan_t from = bm_strings_at(&step->texts, 0);
  const bm_cspan_t to = bm_strings_at(&step->texts, 1);
  for (size_t at = 0; at < text->size;) {
    if (begins_with(text, at, from)) {
      BM_TRY(bm_bytes_put(out, to));
      at += from.size;
    } else {
      const bm_cspan_t same = {text->data + at, 1};
      BM_TRY(bm_bytes_put(out, same));
      ++at;
    }
  }
  return bm_ok();
}

static bm_status_t prepend(const bm_normalizer_t *step, bool is_first,
                           const bm_bytes_t *text, bm_bytes_t *out) {
  const bm_cspan_t unless = bm_strings_at(&step->texts, 1);
  const bool is_there = unless.size != 0 && begins_with(text, 0, unless);
  const bool is_elsewhere =
      (step->flags & BM_NORMALIZER_FIRST) != 0 && !is_first;
  if (text->size != 0 && !is_there && !is_elsewhere) {
    BM_TRY(bm_bytes_put(out, bm_strings_at(&step->texts, 0)));
  }
  const bm_cspan_t all = {text->data, text->size};
  return bm_bytes_put(out, all);
}

static bm_status_t strip(const bm_normalizer_t *step, const bm_bytes_t *text,
                         bm_bytes_t *out, bool *is_first) {
  size_t begin = 0;
  size_t end = text->size;
  while ((step->flags & BM_NORMALIZER_LEFT) != 0 && begin < end) {
    size_t next = begin;
    const uint32_t code_point = bm_utf8_next(text->data, &next);
    if (bm_code_points_at(&step->code_points, code_point) == 0) break;
    begin = next;
  }
  while ((step->flags & BM_NORMALIZER_RIGHT) != 0 && begin < end) {
    const size_t before = bm_utf8_before(text->data, end);
    size_t next = before;
    const uint32_t code_point = bm_utf8_next(text->data, &next);
    if (bm_code_points_at(&step->code_points, code_point) == 0) break;
    end = before;
  }
  if (begin != 0) *is_first = false;
  const bm_cspan_t rest = {text->data + begin, end - begin};
  return bm_bytes_put(out, rest);
}

static bm_status_t take_step(const bm_normalizer_t *step, bool *is_first,
                             bm_bytes_t *text, bm_bytes_t *out) {
  switch (step->kind) {
    case BM_NORMALIZER_MAP:
      return map(step, text, out, is_first);
    case BM_NORMALIZER_ORDER:
      return order(step, text, out);
    case BM_NORMALIZER_COMPOSE:
      return compose(step, text, out);
    case BM_NORMALIZER_REPLACE:
      return replace(step, text, out);
    case BM_NORMALIZER_PREPEND:
      return prepend(step, *is_first, text, out);
    default:
      return strip(step, text, out, is_first);
  }
}

bm_status_t bm_normalize(const bm_normalizers_t *normalizers, bool *is_first,
                         bm_bytes_t *text, bm_bytes_t *other) {
  for (uint32_t i = 0; i < normalizers->count; ++i) {
    other->size = 0;
    BM_TRY(take_step(&normalizers->steps[i], is_first, text, other));
    const bm_bytes_t result = *other;
    *other = *text;
    *text = result;
  }
  return bm_ok();
}
