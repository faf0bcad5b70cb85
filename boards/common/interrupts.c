// Interrupts for applications. crt/start.S says what BM_CRT_SUPERVISOR means.
#include <stddef.h>

#include "runtime_bm/hal/application.h"

#ifdef BM_CRT_SUPERVISOR
#define STATUS "sstatus"
#define VECTOR "stvec"
#define INTERRUPTS_ON "2"  // sstatus.SIE
#else
#define STATUS "mstatus"
#define VECTOR "mtvec"
#define INTERRUPTS_ON "8"  // mstatus.MIE
#endif

extern const char bm_interrupt_entry[];
extern uintptr_t bm_interrupt_startup_vector;
extern bm_hal_interrupt_t bm_interrupt_handler;

// Read by interrupts.S.
uintptr_t bm_interrupt_startup_vector;
bm_hal_interrupt_t bm_interrupt_handler;

void bm_hal_interrupts(bm_hal_interrupt_t handler) {
  bm_hal_interrupts_off();
  if (bm_interrupt_handler == NULL) {
    __asm__ volatile("csrrw %0, " VECTOR ", %1"
                     : "=r"(bm_interrupt_startup_vector)
                     : "r"(bm_interrupt_entry));
  }
  bm_interrupt_handler = handler;
  bm_hal_interrupts_on();
}

void bm_hal_interrupts_off(void) {
  __asm__ volatile("csrci " STATUS ", " INTERRUPTS_ON ::: "memory");
}

void bm_hal_interrupts_on(void) {
  __asm__ volatile("csrsi " STATUS ", " INTERRUPTS_ON ::: "memory");
}

void bm_hal_wait(void) { __asm__ volatile("wfi" ::: "memory"); }
