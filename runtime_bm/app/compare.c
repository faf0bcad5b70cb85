#include "runtime_bm/app/compare.h"

#include "runtime_bm/base/memory.h"

// With fused multiply-add, the printed cosine would depend on the machine.
#pragma STDC FP_CONTRACT OFF

// An IEEE binary16 number.
static double from_f16(uint16_t bits) {
  const uint32_t exponent = (bits >> 10) & 0x1F;
  double value = bits & 0x3FF;
  if (exponent == 0x1F) {
    value = value == 0 ? (double)__builtin_inff() : (double)__builtin_nanf("");
  } else {
    if (exponent != 0) value += 0x400;
    // Units of 2^-24, doubled for every exponent above the smallest normal.
    value *= 0x1p-24;
    for (uint32_t i = 1; i < exponent; ++i) value *= 2;
  }
  return (bits & 0x8000) ? -value : value;
}

static double from_bf16(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

static double element(uint32_t dtype, const void *data, size_t i) {
  switch (dtype) {
    case BM_DTYPE_BOOL:
    case BM_DTYPE_U8:
      return ((const uint8_t *)data)[i];
    case BM_DTYPE_I8:
      return ((const int8_t *)data)[i];
    case BM_DTYPE_I16:
      return ((const int16_t *)data)[i];
    case BM_DTYPE_U16:
      return ((const uint16_t *)data)[i];
    case BM_DTYPE_I32:
      return ((const int32_t *)data)[i];
    case BM_DTYPE_U32:
      return ((const uint32_t *)data)[i];
    case BM_DTYPE_I64:
      return (double)((const int64_t *)data)[i];
    case BM_DTYPE_U64:
      return (double)((const uint64_t *)data)[i];
    case BM_DTYPE_F16:
      return from_f16(((const uint16_t *)data)[i]);
    case BM_DTYPE_BF16:
      return from_bf16(((const uint16_t *)data)[i]);
    case BM_DTYPE_F32:
      return (double)((const float *)data)[i];
    default:
      return ((const double *)data)[i];
  }
}

static size_t element_count(const bm_tensor_t *tensor) {
  size_t count = 1;
  for (uint32_t i = 0; i < tensor->rank; ++i) count *= tensor->shape[i];
  return count;
}

static bool is_nan(double x) { return x != x; }

static bool is_finite(double x) { return x - x == 0; }

static double magnitude(double x) { return x < 0 ? -x : x; }

// |got - want|; 0 if both are the same infinity or both are NaN.
static double difference(double got, double want) {
  if (got == want || (is_nan(got) && is_nan(want))) return 0;
  return magnitude(got - want);
}

static bool element_ok(const bm_golden_output_t *policy, double got,
                       double want) {
  const double d = difference(got, want);
  if (d == 0) return true;
  if (policy->policy == BM_GOLDEN_INT_STEP) return d <= policy->max_step;
  // An infinity must match exactly: any bound relative to it is infinite.
  if (policy->policy != BM_GOLDEN_FLOAT || !is_finite(want)) return false;
  return d <= (double)policy->atol + (double)policy->rtol * magnitude(want);
}

static double row_cosine(const bm_tensor_t *got, const void *want, size_t first,
                         size_t count) {
  double dot = 0;
  double got_norm = 0;
  double want_norm = 0;
  for (size_t i = first; i < first + count; ++i) {
    const double g = element(got->dtype, got->data, i);
    const double w = element(got->dtype, want, i);
    dot += g * w;
    got_norm += g * g;
    want_norm += w * w;
  }
  // Two zero rows have the same direction; a zero row and another do not.
  if (got_norm == 0 || want_norm == 0) return got_norm == want_norm ? 1 : 0;
  return dot / (__builtin_sqrt(got_norm) * __builtin_sqrt(want_norm));
}

static void compare_rows(bm_compare_t *compare,
                         const bm_golden_output_t *policy,
                         const bm_tensor_t *got, const void *want,
                         size_t count) {
  const size_t row = got->rank == 0 ? 1 : got->shape[got->rank - 1];
  compare->has_cosine = true;
  for (size_t first = 0; row != 0 && first < count; first += row) {
    const double cosine = row_cosine(got, want, first, row);
    if (!(cosine >= (double)policy->min_cosine)) compare->ok = false;
    if (!(cosine >= compare->min_cosine) && !is_nan(compare->min_cosine)) {
      compare->min_cosine = cosine;
    }
  }
}

void bm_compare_begin(bm_compare_t *compare) {
  compare->ok = true;
  compare->max_abs = 0;
  compare->differing = 0;
  compare->has_cosine = false;
  compare->min_cosine = 1;
}

void bm_compare_output(bm_compare_t *compare, const bm_golden_output_t *policy,
                       const bm_tensor_t *got, const void *want) {
  const size_t count = element_count(got);
  const size_t size = count == 0 ? 0 : got->bytes / count;
  uint64_t differing = 0;
  for (size_t i = 0; i < count; ++i) {
    const double g = element(got->dtype, got->data, i);
    const double w = element(got->dtype, want, i);
    const double d = difference(g, w);
    if (!(d <= compare->max_abs) && !is_nan(compare->max_abs)) {
      compare->max_abs = d;
    }
    if (d != 0) ++differing;
    // Exactly: bytes, not values, because not all 64-bit integers fit a double,
    // and -0 is not 0 here. But one NaN is as good as another.
    const bool ok =
        policy->policy != BM_GOLDEN_EXACT
            ? element_ok(policy, g, w)
            : (is_nan(g) && is_nan(w)) ||
                  memcmp((const uint8_t *)got->data + i * size,
                         (const uint8_t *)want + i * size, size) == 0;
    if (!ok) compare->ok = false;
  }
  compare->differing += differing;
  if (policy->policy == BM_GOLDEN_INT_STEP &&
      differing > policy->max_differing) {
    compare->ok = false;
  }
  if (policy->policy == BM_GOLDEN_FLOAT && policy->min_cosine > -1) {
    compare_rows(compare, policy, got, want, count);
  }
}

uint32_t bm_compare_argmax(const bm_tensor_t *tensor) {
  const size_t count = element_count(tensor);
  uint32_t best = 0;
  double largest = (double)__builtin_nanf("");
  for (size_t i = 0; i < count; ++i) {
    const double value = element(tensor->dtype, tensor->data, i);
    // A NaN is smaller than all numbers.
    if (value > largest || (is_nan(largest) && !is_nan(value))) {
      best = (uint32_t)i;
      largest = value;
    }
  }
  return best;
}
