#include "boards/common/sifive_test.h"

enum {
  PASS = 0x5555,
  FAIL = 0x3333,  // exit status in the upper half
};

void bm_sifive_test_exit(uintptr_t base, uint32_t status) {
  *(volatile uint32_t *)base = status == 0 ? PASS : (status << 16) | FAIL;
  for (;;) {
  }
}
