// Checks a plan once so that running it needs no checks.
#ifndef RUNTIME_BM_PLAN_PLAN_VERIFY_H_
#define RUNTIME_BM_PLAN_PLAN_VERIFY_H_

#include <stdbool.h>
#include <stdint.h>

#include "runtime_bm/base/status.h"
#include "runtime_bm/plan/plan.h"

BM_EXTERN_C_BEGIN

// Checks that a processor with `isa_bits` and vectors of `vlen_bits` can run
// the plan's kernels. Kernels built for longer vectors than the processor has
// do not trap; they give wrong answers. Error: FAILED_PRECONDITION.
BM_MUST_USE bm_status_t bm_plan_check_cpu(const bm_plan_t *plan,
                                          uint32_t isa_bits,
                                          uint32_t vlen_bits);

// Checks every table of the plan: versions, indices, ranges, alignment, counts.
// The header states its size; that many bytes must be readable. So must be the
// tables that drivers change.
// Errors: UNIMPLEMENTED for another ABI version or an unsupported feature,
// OUT_OF_RANGE for an index or range outside its table or region, DATA_LOSS for
// anything else that is malformed. In an image for several harts it also does
// what bm_plan_verify_order does.
BM_MUST_USE bm_status_t bm_plan_verify(const bm_plan_t *plan);

// Checks that several harts may run a plan whose tables have been checked: none
// of two commands without a barrier between them writes bytes that the other
// one reads or writes, and every command has a barrier if drivers change
// bindings. A barrier counts for the commands behind it in the table, whichever
// entry they belong to. Error: DATA_LOSS, or UNIMPLEMENTED for more than 2^32
// workgroups.
BM_MUST_USE bm_status_t bm_plan_verify_order(const bm_plan_t *plan);

// True when the bindings share a byte. Both must fit their regions.
bool bm_plan_bindings_overlap(const bm_plan_binding_t *a,
                              const bm_plan_binding_t *b);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_PLAN_PLAN_VERIFY_H_
