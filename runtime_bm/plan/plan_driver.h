// Functions for generated drivers: they read values back from a model's results
// and move bindings to places that depend on those values.
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
// region. Error: OUT_OF_RANGE when it would be outside the storage or not keep
// the binding's alignment.
BM_MUST_USE bm_status_t bm_driver_bind(bm_plan_binding_t *binding,
                                       uint32_t start, uint32_t size,
                                       uint64_t offset);

// Moves both bindings of a COPY, source and target, each as bm_driver_bind
// does. Error: OUT_OF_RANGE, also when they would overlap; then neither moves.
BM_MUST_USE bm_status_t bm_driver_bind_copy(
    bm_plan_binding_t *bindings, uint32_t source_start, uint32_t source_size,
    uint64_t source_offset, uint32_t target_start, uint32_t target_size,
    uint64_t target_offset);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_PLAN_PLAN_DRIVER_H_
