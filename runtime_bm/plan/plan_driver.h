// What generated drivers use: values that a model reads back from its own
// results, and places that depend on them.
#ifndef RUNTIME_BM_PLAN_PLAN_DRIVER_H_
#define RUNTIME_BM_PLAN_PLAN_DRIVER_H_

#include <stdint.h>

#include "runtime_bm/base/status.h"
#include "runtime_bm/plan/plan.h"
#include "runtime_bm/plan/plan_run.h"

BM_EXTERN_C_BEGIN

// Reads the number of `bytes` bytes (1, 2, 4 or 8) at `offset` of the storage
// [start, start + size) of a region, zero-extended. Error: OUT_OF_RANGE.
BM_MUST_USE bm_status_t bm_driver_load(const bm_plan_runner_t *runner,
                                       uint32_t region, uint32_t start,
                                       uint32_t size, uint64_t offset,
                                       uint32_t bytes, uint64_t *out_value);

// Moves a binding to `offset` of the storage [start, start + size) of its
// region; `alignment` is BM_PLAN_ALIGNMENT for a dispatch, else 1.
// Error: OUT_OF_RANGE when it would not lie within the storage, or misaligned.
BM_MUST_USE bm_status_t bm_driver_bind(bm_plan_binding_t *binding,
                                       uint32_t start, uint32_t size,
                                       uint64_t offset, uint32_t alignment);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_PLAN_PLAN_DRIVER_H_
