#include "boards/common/htif.h"

#include <stdbool.h>

extern volatile uint64_t tohost;
extern volatile uint64_t fromhost;

#if __riscv_xlen == 64

// A message: device in bits 63..56, command in 55..48, payload below.
#define CONSOLE_GETCHAR (1ull << 56)
#define CONSOLE_PUTCHAR ((1ull << 56) | (1ull << 48))

static void put(const char *byte) { tohost = CONSOLE_PUTCHAR | (uint8_t)*byte; }

// The host answers a request once there is a byte, so one is always open.
int32_t bm_htif_read(void) {
  static bool asked;
  if (!asked) {
    while (tohost != 0) {
    }
    tohost = CONSOLE_GETCHAR;
    asked = true;
  }
  const uint64_t answer = fromhost;
  if (answer == 0) return -1;
  fromhost = 0;
  asked = false;
  return (int32_t)(answer & 0xFF);
}

#else

enum { SYS_WRITE = 64, STDOUT = 1 };

// That message would need two stores, and the host may look between them. The
// address of a system call fits in one word; the other word is always zero.
static void put(const char *byte) {
  static volatile uint64_t call[8] __attribute__((aligned(64)));
  call[0] = SYS_WRITE;
  call[1] = STDOUT;
  call[2] = (uintptr_t)byte;
  call[3] = 1;
  tohost = (uintptr_t)call;
  while (fromhost == 0) {
  }
  fromhost = 0;
}

#endif

// One character per message: QEMU has no message for whole strings.
void bm_htif_write(const char *bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    while (tohost != 0) {
    }
    put(&bytes[i]);
  }
}

void bm_htif_exit(uint32_t status) {
  while (tohost != 0) {
  }
  for (;;) tohost = ((uint64_t)status << 1) | 1;
}
