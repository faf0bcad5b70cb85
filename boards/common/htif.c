#include "boards/common/htif.h"

extern volatile uint64_t tohost;

// A message: device in bits 63..56, command in 55..48, payload below.
#define CONSOLE_PUTCHAR ((1ull << 56) | (1ull << 48))

// One character a message: QEMU knows no message for whole strings.
void bm_htif_write(const char *bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    while (tohost != 0) {
    }
    tohost = CONSOLE_PUTCHAR | (uint8_t)bytes[i];
  }
}

void bm_htif_exit(uint32_t status) {
  while (tohost != 0) {
  }
  for (;;) tohost = ((uint64_t)status << 1) | 1;
}
