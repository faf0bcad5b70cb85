// Prints bm_status_text of each status word among its arguments.
#include <stdio.h>
#include <stdlib.h>

#include "runtime_bm/base/status.h"

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    const bm_status_t status = {(uint32_t)strtoul(argv[i], NULL, 16)};
    bm_text_t text;
    bm_text_clear(&text);
    bm_status_text(&text, status);
    printf("%.*s\n", (int)text.size, text.bytes);
  }
  return 0;
}
