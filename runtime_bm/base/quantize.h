// Quantized tensors from and to real numbers, for models whose inputs or
// outputs are int8 or uint8: real = (quantized - zero_point) * scale. The model
// file states scale and zero point of each.
#ifndef RUNTIME_BM_BASE_QUANTIZE_H_
#define RUNTIME_BM_BASE_QUANTIZE_H_

#include <stdint.h>

// Returns value / scale + zero_point, rounded to the nearest integer (ties to
// even) and limited to [low, high]; NaN gives `low`. This is QuantizeLinear of
// ONNX, bit for bit. Other frameworks differ in ties, by one step.
static inline int32_t bm_quantize(float value, float scale, int32_t zero_point,
                                  int32_t low, int32_t high) {
  // Adding this leaves no bits for a fraction.
  const float kRound = 12582912.0f;  // 1.5 * 2^23
  const float least = (float)(low - zero_point);
  const float most = (float)(high - zero_point);
  float steps = value / scale;
  if (!(steps > least)) steps = least;
  if (steps > most) steps = most;
  return (int32_t)(steps + kRound - kRound) + zero_point;
}

static inline int8_t bm_quantize_i8(float value, float scale,
                                    int32_t zero_point) {
  return (int8_t)bm_quantize(value, scale, zero_point, INT8_MIN, INT8_MAX);
}

static inline uint8_t bm_quantize_u8(float value, float scale,
                                     int32_t zero_point) {
  return (uint8_t)bm_quantize(value, scale, zero_point, 0, UINT8_MAX);
}

static inline float bm_dequantize(int32_t quantized, float scale,
                                  int32_t zero_point) {
  return (float)(quantized - zero_point) * scale;
}

#endif  // RUNTIME_BM_BASE_QUANTIZE_H_
