// The 16550 UART.
#ifndef BOARDS_COMMON_NS16550_H_
#define BOARDS_COMMON_NS16550_H_

#include <stddef.h>
#include <stdint.h>

// `stride` is the distance between its registers: 1, or 4 if each is a 32-bit
// word.

// Sets 8 data bits, no parity and one stop bit, and turns interrupts off. Keeps
// the baud rate.
void bm_ns16550_init(uintptr_t base, uint32_t stride);

// Writes `size` bytes, waiting for room before each.
void bm_ns16550_write(uintptr_t base, uint32_t stride, const char *bytes,
                      size_t size);

// Returns the next byte that was received, or -1 if there is none.
int32_t bm_ns16550_read(uintptr_t base, uint32_t stride);

#endif  // BOARDS_COMMON_NS16550_H_
