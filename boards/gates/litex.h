// Devices of systems that LiteX makes. Their addresses differ from system to
// system; csr.json has them.
#ifndef BOARDS_GATES_LITEX_H_
#define BOARDS_GATES_LITEX_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

// Addresses of the UART's registers.
typedef struct bm_litex_uart_t {
  uintptr_t rxtx;
  uintptr_t txfull;
  uintptr_t txempty;
} bm_litex_uart_t;

void bm_litex_uart_write(const bm_litex_uart_t *uart, const char *bytes,
                         size_t size);

// Writes `status` to the register at `exit`, with which the simulator ends,
// once everything is written to the console.
BM_NORETURN void bm_litex_exit(const bm_litex_uart_t *uart, uintptr_t exit,
                               uint32_t status);

// Resets the whole system by its register at `reset`, once everything is
// written to the console. `cycles` is what a character takes on the line.
BM_NORETURN void bm_litex_restart(const bm_litex_uart_t *uart, uintptr_t reset,
                                  uint32_t cycles);

#endif  // BOARDS_GATES_LITEX_H_
