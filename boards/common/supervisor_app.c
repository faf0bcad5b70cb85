// What boards in supervisor mode offer to applications through the firmware in
// machine mode.
#include "boards/common/sbi.h"
#include "runtime_bm/hal/application.h"

#define SIE_TIMER 0x20u

uint64_t bm_hal_time(void) {
  uint64_t time;
  __asm__ volatile("rdtime %0" : "=r"(time));
  return time;
}

void bm_hal_timer(uint64_t time) {
  bm_sbi_timer(time);
  __asm__ volatile("csrs sie, %0" ::"r"(SIE_TIMER));
}

void bm_hal_power_off(void) { bm_sbi_power_off(); }
