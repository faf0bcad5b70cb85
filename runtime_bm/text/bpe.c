// Byte pair encoding: of all neighbors that can merge, those whose merge was
// learned first do, from left to right, until none are left.
#include "runtime_bm/text/pieces.h"
#include "runtime_bm/text/strings.h"
#include "runtime_bm/text/utf8.h"

#define BM_FILE BM_FILE_BPE

// The symbols of a piece, by their places. A symbol that has been merged into
// the one before it stays in the heap, behind all that can merge.
typedef struct symbols_t {
  const bm_tokenizer_tables_t *tables;
  uint32_t count;
  uint32_t *ids;
  uint32_t *before;
  uint32_t *behind;  // `count`: none
  uint32_t *ranks;   // of the merge with the one behind; BM_NONE: none
  uint32_t *heap;    // places; the next to merge is the first
  uint32_t *places;  // in the heap, by place
} symbols_t;

static symbols_t symbols_in(const bm_tokenizer_tables_t *tables, void *room,
                            size_t size) {
  uint32_t *words = room;
  const symbols_t symbols = {
      .tables = tables,
      .ids = words,
      .before = words + size,
      .behind = words + 2 * size,
      .ranks = words + 3 * size,
      .heap = words + 4 * size,
      .places = words + 5 * size,
  };
  return symbols;
}

static bool comes_before(const symbols_t *symbols, uint32_t a, uint32_t b) {
  const uint32_t *ranks = symbols->ranks;
  return ranks[a] != ranks[b] ? ranks[a] < ranks[b] : a < b;
}

static void put_into_heap(symbols_t *symbols, uint32_t at, uint32_t place) {
  symbols->heap[at] = place;
  symbols->places[place] = at;
}

// Moves a symbol whose rank has changed to where it belongs.
static void settle(symbols_t *symbols, uint32_t place) {
  uint32_t at = symbols->places[place];
  while (at != 0) {
    const uint32_t parent = (at - 1) / 2;
    if (!comes_before(symbols, place, symbols->heap[parent])) break;
    put_into_heap(symbols, at, symbols->heap[parent]);
    at = parent;
  }
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= symbols->count) break;
    if (child + 1 < symbols->count &&
        comes_before(symbols, symbols->heap[child + 1], symbols->heap[child])) {
      ++child;
    }
    if (!comes_before(symbols, symbols->heap[child], place)) break;
    put_into_heap(symbols, at, symbols->heap[child]);
    at = child;
  }
  put_into_heap(symbols, at, place);
}

// Returns the rank of a merge, or BM_NONE.
static uint32_t rank_of(const bm_tokenizer_tables_t *tables, uint32_t left,
                        uint32_t right) {
  uint32_t low = left == 0 ? 0 : bm_numbers_at(&tables->merge_ends, left - 1);
  uint32_t high = bm_numbers_at(&tables->merge_ends, left);
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint32_t found = bm_numbers_at(&tables->merge_rights, middle);
    if (found == right) return bm_numbers_at(&tables->merge_ranks, middle);
    if (found < right) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return BM_NONE;
}

static uint32_t rank_at(const symbols_t *symbols, uint32_t place) {
  const uint32_t behind = symbols->behind[place];
  if (behind == symbols->count) return BM_NONE;
  return rank_of(symbols->tables, symbols->ids[place], symbols->ids[behind]);
}

// Appends the tokens of the bytes of what is no token, and returns whether all
// of them have one.
static bool put_bytes(symbols_t *symbols, bm_cspan_t bytes) {
  const bm_numbers_t *byte_tokens = &symbols->tables->byte_tokens;
  if (byte_tokens->count == 0) return false;
  const uint32_t none = symbols->tables->tokens.strings.ends.count;
  for (size_t i = 0; i < bytes.size; ++i) {
    if (bm_numbers_at(byte_tokens, bytes.data[i]) == none) return false;
  }
  for (size_t i = 0; i < bytes.size; ++i) {
    symbols->ids[symbols->count++] = bm_numbers_at(byte_tokens, bytes.data[i]);
  }
  return true;
}

// Makes the symbols of a piece: its bytes, or its characters.
static void divide(symbols_t *symbols, bm_cspan_t piece) {
  const bm_tokenizer_tables_t *tables = symbols->tables;
  const bool bytes = (tables->flags & BM_TOKENIZER_BYTES) != 0;
  bool is_behind_unknown = false;
  for (size_t at = 0; at < piece.size;) {
    const uint32_t size = bytes ? 1 : bm_utf8_size(piece.data[at]);
    const bm_cspan_t part = {piece.data + at, size};
    at += size;
    uint32_t id = BM_NONE;
    bm_lookup_t lookup = bm_lookup_begin(&tables->tokens);
    if (!bytes && bm_lookup_take_all(&tables->tokens, &lookup, part)) {
      id = bm_lookup_found(&tables->tokens, &lookup);
    }
    const bool is_unknown = id == BM_NONE && !put_bytes(symbols, part);
    if (is_unknown &&
        !(is_behind_unknown && (tables->flags & BM_TOKENIZER_FUSE) != 0)) {
      id = tables->unknown;
    }
    if (id != BM_NONE) symbols->ids[symbols->count++] = id;
    is_behind_unknown = is_unknown;
  }
}

static void merge_all(symbols_t *symbols) {
  const uint32_t count = symbols->count;
  for (uint32_t i = 0; i < count; ++i) {
    symbols->before[i] = i - 1;  // wraps; nothing is before the first
    symbols->behind[i] = i + 1;
    symbols->ranks[i] = BM_NONE;
    put_into_heap(symbols, i, i);
  }
  for (uint32_t i = 0; i < count; ++i) {
    symbols->ranks[i] = rank_at(symbols, i);
    settle(symbols, i);
  }
  for (;;) {
    const uint32_t place = symbols->heap[0];
    const uint32_t rank = symbols->ranks[place];
    if (rank == BM_NONE) return;
    const uint32_t gone = symbols->behind[place];
    const uint32_t next = symbols->behind[gone];
    symbols->ids[place] = bm_numbers_at(&symbols->tables->merge_results, rank);
    symbols->behind[place] = next;
    if (next != count) symbols->before[next] = place;
    symbols->ranks[gone] = BM_NONE;
    settle(symbols, gone);
    symbols->ranks[place] = rank_at(symbols, place);
    settle(symbols, place);
    const uint32_t before = symbols->before[place];
    if (before == BM_NONE) continue;
    symbols->ranks[before] = rank_at(symbols, before);
    settle(symbols, before);
  }
}

bm_status_t bm_piece_bpe(const bm_tokenizer_tables_t *tables, bm_cspan_t piece,
                         void *room, bm_token_list_t *list) {
  if ((tables->flags & BM_TOKENIZER_WHOLE) != 0) {
    bm_lookup_t lookup = bm_lookup_begin(&tables->tokens);
    if (bm_lookup_take_all(&tables->tokens, &lookup, piece)) {
      const uint32_t id = bm_lookup_found(&tables->tokens, &lookup);
      if (id != BM_NONE) return bm_token_list_put(list, id);
    }
  }
  symbols_t symbols = symbols_in(tables, room, piece.size);
  divide(&symbols, piece);
  if (symbols.count == 0) return bm_ok();
  merge_all(&symbols);
  for (uint32_t at = 0; at != symbols.count; at = symbols.behind[at]) {
    BM_TRY(bm_token_list_put(list, symbols.ids[at]));
  }
  return bm_ok();
}
