// The 16550 UART, transmit only.
#ifndef BOARDS_COMMON_NS16550_H_
#define BOARDS_COMMON_NS16550_H_

#include <stddef.h>
#include <stdint.h>

// `stride` is how far apart its registers are: 1, or 4 where each is a word of
// 32 bits.

// Sets 8 data bits, no parity, one stop bit and turns interrupts off. The baud
// rate is left as it is.
void bm_ns16550_init(uintptr_t base, uint32_t stride);

// Writes `size` bytes, waiting for room before each.
void bm_ns16550_write(uintptr_t base, uint32_t stride, const char *bytes,
                      size_t size);

#endif  // BOARDS_COMMON_NS16550_H_
