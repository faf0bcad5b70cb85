#include "runtime_bm/app/terminal.h"

#include <stdbool.h>
#include <stdint.h>

#include "runtime_bm/base/memory.h"
#include "runtime_bm/hal/application.h"
#include "runtime_bm/hal/hal.h"
#include "runtime_bm/text/utf8.h"

enum { BACKSPACE = 0x08, DELETE = 0x7F, ESCAPE = 0x1B };

void bm_terminal_print(const char *string) {
  size_t size = 0;
  while (string[size] != '\0') ++size;
  bm_hal_console_write(string, size);
}

static uint8_t next_byte(void) {
  for (;;) {
    const int32_t byte = bm_hal_console_read();
    if (byte >= 0) return (uint8_t)byte;
  }
}

// Passes over the sequence that a key such as an arrow sends.
static void skip_sequence(void) {
  uint8_t byte = next_byte();
  if (byte != '[' && byte != 'O') return;
  do {
    byte = next_byte();
  } while (byte < 0x40);
}

// Returns whether the character that ends the line is not complete.
static bool is_within_character(const char *line, size_t size) {
  const uint8_t *text = (const uint8_t *)line;
  for (size_t back = 1; back < BM_UTF8_BYTES && back <= size; ++back) {
    const uint8_t byte = text[size - back];
    if ((byte & 0xC0) != 0x80) return bm_utf8_size(byte) > back;
  }
  return false;
}

// Makes the line UTF-8. What is none becomes `?`, which takes no more room.
static void mend(char *line, size_t size) {
  uint8_t *text = (uint8_t *)line;
  for (size_t at = 0; at < size;) {
    const uint32_t count = bm_utf8_size(text[at]);
    if (count != 0 && count <= size - at && bm_utf8_valid(text + at, count)) {
      at += count;
    } else {
      text[at++] = '?';
    }
  }
}

static size_t without_spaces(char *line, size_t size) {
  size_t begin = 0;
  while (size != 0 && line[size - 1] == ' ') --size;
  while (begin < size && line[begin] == ' ') ++begin;
  memmove(line, line + begin, size - begin);
  return size - begin;
}

size_t bm_terminal_line(char *line, size_t capacity) {
  static bool was_return;
  size_t size = 0;
  for (;;) {
    const uint8_t byte = next_byte();
    // Some terminals send two bytes for one key.
    const bool is_second = byte == '\n' && was_return;
    was_return = byte == '\r';
    if (is_second) continue;
    if (byte == '\r' || byte == '\n') break;
    if (byte == ESCAPE) {
      skip_sequence();
    } else if (byte == BACKSPACE || byte == DELETE) {
      if (size == 0) continue;
      size = bm_utf8_before((const uint8_t *)line, size);
      bm_terminal_print("\b \b");
    } else if (byte >= ' ' || byte == '\t') {
      const bool is_inner = (byte & 0xC0) == 0x80;
      // A character is taken as a whole, or not at all.
      const size_t room = is_inner ? 1 : BM_UTF8_BYTES;
      if (room > capacity - size) continue;
      if (is_inner && !is_within_character(line, size)) continue;
      line[size] = byte == '\t' ? ' ' : (char)byte;
      bm_hal_console_write(&line[size++], 1);
    }
  }
  bm_terminal_print("\n");
  mend(line, size);
  return without_spaces(line, size);
}
