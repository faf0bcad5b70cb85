#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 3 && data[0] == 'b' && data[1] == 'u' && data[2] == 'g')
    __builtin_trap();
  return 0;
}
