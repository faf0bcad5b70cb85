// What boards offer to applications beyond hal.h: interrupts, a clock, a timer,
// console input, and power off. The runtime uses none of it, and an image has
// only what its application calls. boards/README.md lists the boards that have
// these functions; on any other, an application that calls one does not link.
#ifndef RUNTIME_BM_HAL_APPLICATION_H_
#define RUNTIME_BM_HAL_APPLICATION_H_

#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// Interrupt numbers of mcause. Those of scause are raised to them; platforms
// add numbers from 16. In an image for several harts, software interrupts are
// the runtime's, and no handler sees them.
enum {
  BM_INTERRUPT_SOFTWARE = 3,
  BM_INTERRUPT_TIMER = 7,
  BM_INTERRUPT_EXTERNAL = 11,
};

// Called with interrupts off, on the stack of what was interrupted, which may
// be a kernel. Vector registers are not saved, so it must not run a model: it
// hands data to the main program, which does.
typedef void (*bm_hal_interrupt_t)(uint32_t number);

// Makes `handler` the one for all interrupts, and turns interrupts on. Which
// ones there are is up to drivers: bm_hal_timer is one. Exceptions still end
// the program with a TRAP record.
void bm_hal_interrupts(bm_hal_interrupt_t handler);

// Between these two the handler is not called. Turn interrupts off while the
// main program reads what the handler writes, unless that is one word.
void bm_hal_interrupts_off(void);
void bm_hal_interrupts_on(void);

// Sleeps until an interrupt is pending, at low power if the hart can. Call it
// with interrupts off, after a look at what the handler writes, so that nothing
// can happen in between. The handler runs when interrupts are on again. It may
// return early, so look again.
void bm_hal_wait(void);

// The time since some point before main, and its ticks per second.
uint64_t bm_hal_time(void);
uint32_t bm_hal_time_hz(void);

// Raises BM_INTERRUPT_TIMER once bm_hal_time() >= `time`, and until the next
// call; UINT64_MAX: never.
void bm_hal_timer(uint64_t time);

// Returns the next byte from the console, or -1 if there is none now.
int32_t bm_hal_console_read(void);

// Switches the board off.
BM_NORETURN void bm_hal_power_off(void);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_HAL_APPLICATION_H_
