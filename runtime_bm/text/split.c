#include "runtime_bm/text/split.h"

#include "runtime_bm/text/utf8.h"

// Returns the bit of the class of the character at *at, and moves behind it.
static uint32_t class_at(const bm_splitter_t *splitter, size_t *at) {
  const uint32_t code_point = bm_utf8_next(splitter->text, at);
  return 1u << bm_code_points_at(&splitter->tables->classes, code_point);
}

static bool may_end(const bm_splitter_t *splitter,
                    const bm_split_alternative_t *alternative, size_t at,
                    size_t end) {
  if (alternative->not_before == 0 || at == end) return true;
  return (class_at(splitter, &at) & alternative->not_before) == 0;
}

// Returns where a match of the alternative from `begin` ends, or `begin` if
// there is none.
static size_t match_alternative(const bm_splitter_t *splitter,
                                const bm_split_alternative_t *alternative,
                                size_t begin, size_t end) {
  const bm_split_item_t *items =
      splitter->tables->items + alternative->first_item;
  uint32_t counts[BM_SPLIT_ITEMS];
  size_t ends[BM_SPLIT_ITEMS];
  size_t at = begin;
  for (uint32_t index = 0;;) {
    bool is_good = true;
    if (index == alternative->item_count) {
      if (may_end(splitter, alternative, at, end)) return at;
      is_good = false;
    } else {
      const bm_split_item_t *item = &items[index];
      counts[index] = 0;
      while (at < end &&
             (counts[index] < item->most || item->most == BM_SPLIT_UNBOUNDED)) {
        size_t next = at;
        if ((class_at(splitter, &next) & item->classes) == 0) break;
        at = next;
        ++counts[index];
      }
      ends[index] = at;
      is_good = counts[index] >= item->least;
    }
    if (is_good) {
      ++index;
      continue;
    }
    // The last item that can gives a character back.
    do {
      if (index == 0) return begin;
      --index;
    } while (counts[index] <= items[index].least);
    --counts[index];
    at = bm_utf8_before(splitter->text, ends[index]);
    ends[index] = at;
    ++index;
  }
}

// Finds the next match of a stage from `level->at`; without one, it is empty
// and at the end.
static void find(const bm_splitter_t *splitter, const bm_split_stage_t *stage,
                 bm_split_level_t *level) {
  for (size_t at = level->at; at < level->end;) {
    for (uint32_t i = 0; i < stage->alternative_count; ++i) {
      const size_t end = match_alternative(
          splitter,
          &splitter->tables->alternatives[stage->first_alternative + i], at,
          level->end);
      if (end == at) continue;
      level->match_begin = at;
      level->match_end = end;
      return;
    }
    bm_utf8_next(splitter->text, &at);
  }
  level->match_begin = level->end;
  level->match_end = level->end;
}

// Gives the next piece of a stage that it keeps. Returns false behind the last.
static bool next_of(const bm_splitter_t *splitter,
                    const bm_split_stage_t *stage, bm_split_level_t *level,
                    size_t *out_begin, size_t *out_end) {
  while (level->at < level->end) {
    uint32_t flag = BM_SPLIT_KEEP_MATCHES;
    *out_begin = level->at;
    if (level->match_end == level->at) find(splitter, stage, level);
    if (level->at < level->match_begin) {
      flag = BM_SPLIT_KEEP_GAPS;
      level->at = level->match_begin;
    } else {
      level->at = level->match_end;
    }
    *out_end = level->at;
    if ((stage->flags & flag) != 0) return true;
  }
  return false;
}

static void enter(bm_splitter_t *splitter, size_t begin, size_t end) {
  const bm_split_level_t level = {begin, end, begin, begin};
  splitter->levels[splitter->depth++] = level;
}

void bm_split_begin(bm_splitter_t *splitter, const bm_split_t *tables,
                    bm_cspan_t text) {
  splitter->tables = tables;
  splitter->text = text.data;
  splitter->depth = 0;
  enter(splitter, 0, text.size);
}

bool bm_split_next(bm_splitter_t *splitter, bm_cspan_t *out_piece) {
  while (splitter->depth != 0) {
    bm_split_level_t *level = &splitter->levels[splitter->depth - 1];
    size_t begin = level->at;
    size_t end = level->end;
    const bool is_last = splitter->depth > splitter->tables->stage_count;
    if (is_last ||
        !next_of(splitter, &splitter->tables->stages[splitter->depth - 1],
                 level, &begin, &end)) {
      --splitter->depth;
      if (!is_last || begin == end) continue;
      out_piece->data = splitter->text + begin;
      out_piece->size = end - begin;
      return true;
    }
    enter(splitter, begin, end);
  }
  return false;
}
