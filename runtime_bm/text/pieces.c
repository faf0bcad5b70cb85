#include "runtime_bm/text/pieces.h"

#include "runtime_bm/text/strings.h"
#include "runtime_bm/text/utf8.h"

#define BM_FILE BM_FILE_PIECES

bm_status_t bm_token_list_put(bm_token_list_t *list, uint32_t id) {
  BM_CHECK(list->count < list->capacity, RESOURCE_EXHAUSTED);
  list->ids[list->count++] = id;
  return bm_ok();
}

static uint32_t characters_of(bm_cspan_t text) {
  uint32_t count = 0;
  for (size_t i = 0; i < text.size; ++i) {
    count += (text.data[i] & 0xC0) != 0x80;
  }
  return count;
}

// Returns the longest token that a text begins with, behind what `lookup` has
// taken, or BM_NONE.
static uint32_t longest(const bm_sorted_t *tokens, bm_lookup_t lookup,
                        bm_cspan_t text, size_t *out_size) {
  uint32_t id = BM_NONE;
  for (size_t i = 0; i < text.size; ++i) {
    if (!bm_lookup_take(tokens, &lookup, text.data[i])) break;
    const uint32_t found = bm_lookup_found(tokens, &lookup);
    if (found == BM_NONE) continue;
    id = found;
    *out_size = i + 1;
  }
  return id;
}

bm_status_t bm_piece_wordpiece(const bm_tokenizer_tables_t *tables,
                               bm_cspan_t piece, bm_token_list_t *list) {
  const size_t begin = list->count;
  bool is_known = characters_of(piece) <= tables->longest_word;
  bm_lookup_t lookup = bm_lookup_begin(&tables->tokens);
  for (size_t at = 0; is_known && at < piece.size;) {
    const bm_cspan_t rest = {piece.data + at, piece.size - at};
    size_t size = 0;
    const uint32_t id = longest(&tables->tokens, lookup, rest, &size);
    is_known = id != BM_NONE;
    if (!is_known) break;
    BM_TRY(bm_token_list_put(list, id));
    at += size;
    lookup = bm_lookup_begin(&tables->tokens);
    is_known = at == piece.size ||
               bm_lookup_take_all(&tables->tokens, &lookup,
                                  bm_strings_at(&tables->continuing, 0));
  }
  if (is_known) return bm_ok();
  // Of a word with an unknown part, no part counts.
  list->count = begin;
  return bm_token_list_put(list, tables->unknown);
}

// The best way to get to a place of a piece.
typedef struct node_t {
  double score;
  uint32_t size;  // bytes of its last token; 0: there is none yet
  uint32_t id;
} node_t;

static void improve(node_t *node, double score, uint32_t size, uint32_t id) {
  if (node->size != 0 && !(score > node->score)) return;
  const node_t better = {score, size, id};
  *node = better;
}

// Extends the best way to `at` by each token that begins there.
static void extend(const bm_tokenizer_tables_t *tables, bm_cspan_t piece,
                   size_t at, node_t *nodes) {
  const double score = at == 0 ? 0.0 : nodes[at - 1].score;
  const uint32_t character = bm_utf8_size(piece.data[at]);
  bool is_known = false;
  bm_lookup_t lookup = bm_lookup_begin(&tables->tokens);
  for (size_t end = at; end < piece.size;) {
    if (!bm_lookup_take(&tables->tokens, &lookup, piece.data[end])) break;
    ++end;
    const uint32_t id = bm_lookup_found(&tables->tokens, &lookup);
    if (id == BM_NONE) continue;
    const uint32_t size = (uint32_t)(end - at);
    improve(&nodes[end - 1], tables->scores[id] + score, size, id);
    is_known |= size == character;
  }
  if (is_known) return;
  improve(&nodes[at + character - 1], tables->unknown_score + score, character,
          tables->unknown);
}

bm_status_t bm_piece_unigram(const bm_tokenizer_tables_t *tables,
                             bm_cspan_t piece, void *room,
                             bm_token_list_t *list) {
  node_t *nodes = room;
  for (size_t i = 0; i < piece.size; ++i) nodes[i].size = 0;
  for (size_t at = 0; at < piece.size; at += bm_utf8_size(piece.data[at])) {
    extend(tables, piece, at, nodes);
  }
  // The way back, which the list is then turned around for.
  const size_t begin = list->count;
  bool is_behind_unknown = false;
  for (size_t at = piece.size; at != 0;) {
    const node_t *node = &nodes[at - 1];
    const bool is_unknown = node->id == tables->unknown;
    if (!is_unknown || !is_behind_unknown ||
        (tables->flags & BM_TOKENIZER_FUSE) == 0) {
      BM_TRY(bm_token_list_put(list, node->id));
    }
    is_behind_unknown = is_unknown;
    at -= node->size;
  }
  for (size_t i = begin, j = list->count; i + 1 < j; ++i) {
    --j;
    const uint32_t id = list->ids[i];
    list->ids[i] = list->ids[j];
    list->ids[j] = id;
  }
  return bm_ok();
}
