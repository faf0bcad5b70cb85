// Quantizes the floats on standard input: quantize i8|u8 SCALE ZERO_POINT, then
// dequantizes them; prints both.
#include "runtime_bm/base/quantize.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  if (argc != 4) return 1;
  const float scale = strtof(argv[2], NULL);
  const int32_t zero_point = (int32_t)strtol(argv[3], NULL, 10);
  float value;
  while (fread(&value, sizeof(value), 1, stdin) == 1) {
    const int32_t quantized = argv[1][0] == 'i'
                                  ? bm_quantize_i8(value, scale, zero_point)
                                  : bm_quantize_u8(value, scale, zero_point);
    printf("%d %a\n", (int)quantized,
           (double)bm_dequantize(quantized, scale, zero_point));
  }
  return 0;
}
