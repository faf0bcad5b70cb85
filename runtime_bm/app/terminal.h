// A line that somebody types at a serial terminal.
#ifndef RUNTIME_BM_APP_TERMINAL_H_
#define RUNTIME_BM_APP_TERMINAL_H_

#include <stddef.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// Prints a NUL-terminated string.
void bm_terminal_print(const char *string);

// Reads a line and shows what is typed. Backspace takes back a character, and
// what does not fit is not taken. Leaves out spaces at both ends. What is no
// UTF-8 becomes `?`. Returns the bytes of the line, which is not
// NUL-terminated.
size_t bm_terminal_line(char *line, size_t capacity);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_APP_TERMINAL_H_
