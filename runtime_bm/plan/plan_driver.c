#include "runtime_bm/plan/plan_driver.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/base/range.h"

#define BM_FILE BM_FILE_PLAN_DRIVER

bm_status_t bm_driver_load(const bm_plan_runner_t *runner, uint32_t region,
                           uint32_t start, uint32_t size, uint64_t offset,
                           uint32_t bytes, uint64_t *out_value) {
  BM_CHECK(bm_range_fits(offset, bytes, size), OUT_OF_RANGE);
  *out_value = 0;  // little endian: the low bytes come first
  memcpy(out_value, runner->regions[region] + start + offset, bytes);
  return bm_ok();
}

bm_status_t bm_driver_bind(bm_plan_binding_t *binding, uint32_t start,
                           uint32_t size, uint64_t offset, uint32_t alignment) {
  BM_CHECK(bm_range_fits(offset, binding->length, size), OUT_OF_RANGE);
  BM_CHECK(bm_is_aligned(start + offset, alignment), OUT_OF_RANGE);
  binding->offset = start + (uint32_t)offset;
  return bm_ok();
}
