// What a process offers to applications.
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime_bm/hal/application.h"

// Waits a moment, so that a program that asks again and again leaves the
// processor to others. The program ends with its input.
int32_t bm_hal_console_read(void) {
  enum { WAIT_MILLISECONDS = 10 };
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  if (poll(&input, 1, WAIT_MILLISECONDS) <= 0) return -1;
  uint8_t byte;
  if (read(STDIN_FILENO, &byte, 1) <= 0) exit(0);
  return byte;
}
