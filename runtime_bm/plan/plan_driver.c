#include "runtime_bm/plan/plan_driver.h"

#include "runtime_bm/base/memory.h"
#include "runtime_bm/base/range.h"
#include "runtime_bm/plan/plan_verify.h"

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
                           uint32_t size, uint64_t offset) {
  BM_CHECK(bm_range_fits(offset, binding->length, size), OUT_OF_RANGE);
  BM_CHECK(bm_is_aligned(start + offset, binding->alignment), OUT_OF_RANGE);
  binding->offset = start + (uint32_t)offset;
  return bm_ok();
}

bm_status_t bm_driver_bind_copy(bm_plan_binding_t *bindings,
                                uint32_t source_start, uint32_t source_size,
                                uint64_t source_offset, uint32_t target_start,
                                uint32_t target_size, uint64_t target_offset) {
  bm_plan_binding_t source = bindings[0];
  bm_plan_binding_t target = bindings[1];
  BM_TRY(bm_driver_bind(&source, source_start, source_size, source_offset));
  BM_TRY(bm_driver_bind(&target, target_start, target_size, target_offset));
  BM_CHECK(!bm_plan_bindings_overlap(&source, &target), OUT_OF_RANGE);
  bindings[0] = source;
  bindings[1] = target;
  return bm_ok();
}
