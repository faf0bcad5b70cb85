#include "runtime_bm/plan/plan_verify.h"

#include <stdbool.h>

#include "runtime_bm/base/range.h"

#define BM_FILE BM_FILE_PLAN_VERIFY

// The largest values that the executable ABI can hold.
enum {
  MAX_WORKGROUP_COUNT_Z = 65535,
  MAX_EXPORT_CONSTANTS = 255,
};

bool bm_plan_bindings_overlap(const bm_plan_binding_t *a,
                              const bm_plan_binding_t *b) {
  return a->region == b->region &&
         bm_range_overlaps(a->offset, a->length, b->offset, b->length);
}

bm_status_t bm_plan_check_cpu(const bm_plan_t *plan, uint32_t isa_bits,
                              uint32_t vlen_bits) {
  BM_CHECK((plan->isa & ~isa_bits) == 0, FAILED_PRECONDITION);
  BM_CHECK(plan->vlen_bits <= vlen_bits, FAILED_PRECONDITION);
  return bm_ok();
}

static bool region_fits(const bm_plan_t *plan,
                        const bm_plan_binding_t *binding) {
  const uint32_t sizes[] = {plan->arena_bytes, plan->weights_bytes,
                            plan->state_bytes};
  return binding->region < BM_PLAN_REGION_COUNT &&
         bm_range_fits(binding->offset, binding->length,
                       sizes[binding->region]);
}

// True when a table of `count` rows exists.
static bool table_ok(const void *table, uint32_t count) {
  return table != NULL || count == 0;
}

static bm_status_t verify_header(const bm_plan_t *plan) {
  const uint32_t machines = BM_ISA_RV32 | BM_ISA_RV64 | BM_ISA_X86_64;
  const uint32_t vectors = BM_ISA_V | BM_ISA_ZVE32F;
  const uint32_t machine = plan->isa & machines;
  const bool vector = (plan->isa & vectors) != 0;
  const bool kernels = plan->export_count != 0;
  const bool prelinked = plan->library_query != NULL;
  const bool loaded = plan->kernels_elf != NULL;
  BM_CHECK(plan->abi_version == BM_PLAN_ABI_VERSION, UNIMPLEMENTED);
  // Exactly one of them.
  BM_CHECK(machine != 0 && (machine & (machine - 1)) == 0, DATA_LOSS);
  BM_CHECK((plan->isa & ~(machines | vectors)) == 0, UNIMPLEMENTED);
  BM_CHECK(vector == (plan->vlen_bits != 0), DATA_LOSS);
  BM_CHECK(plan->name != NULL, DATA_LOSS);
  BM_CHECK(table_ok(plan->weights, plan->weights_bytes) &&
               bm_is_aligned((uintptr_t)plan->weights, BM_PLAN_ALIGNMENT),
           DATA_LOSS);
  BM_CHECK(table_ok(plan->state, plan->state_bytes) &&
               bm_is_aligned((uintptr_t)plan->state, BM_PLAN_ALIGNMENT),
           DATA_LOSS);
  // A plan that only copies and fills has no kernels.
  BM_CHECK(!(prelinked && loaded) && kernels == (prelinked || loaded) &&
               loaded == (plan->kernels_elf_bytes != 0),
           DATA_LOSS);
  BM_CHECK(plan->commands != NULL && plan->bindings != NULL, DATA_LOSS);
  BM_CHECK(table_ok(plan->exports, plan->export_count) &&
               table_ok(plan->constants, plan->constant_count) &&
               table_ok(plan->inputs, plan->input_count) &&
               table_ok(plan->outputs, plan->output_count),
           DATA_LOSS);
  BM_CHECK(plan->entries != NULL && plan->entry_count != 0 &&
               plan->reset_count <= plan->command_count,
           DATA_LOSS);
  return bm_ok();
}

static bm_status_t verify_export(const bm_plan_export_t *export_) {
  BM_CHECK(export_->name != NULL, DATA_LOSS);
  BM_CHECK(export_->binding_count <= BM_PLAN_MAX_BINDINGS, UNIMPLEMENTED);
  BM_CHECK(export_->constant_count <= MAX_EXPORT_CONSTANTS, UNIMPLEMENTED);
  return bm_ok();
}

static bm_status_t verify_dispatch(const bm_plan_t *plan,
                                   const bm_plan_command_t *command,
                                   const bm_plan_binding_t *bindings) {
  BM_CHECK(command->ordinal < plan->export_count, OUT_OF_RANGE);
  const bm_plan_export_t *export_ = &plan->exports[command->ordinal];
  BM_CHECK(command->binding_count == export_->binding_count, DATA_LOSS);
  BM_CHECK(command->constant_count == export_->constant_count, DATA_LOSS);
  BM_CHECK(command->workgroup_count[0] != 0, DATA_LOSS);
  BM_CHECK(command->workgroup_count[1] != 0, DATA_LOSS);
  BM_CHECK(command->workgroup_count[2] != 0, DATA_LOSS);
  BM_CHECK(command->workgroup_count[2] <= MAX_WORKGROUP_COUNT_Z, UNIMPLEMENTED);
  for (uint32_t i = 0; i < command->binding_count; ++i) {
    BM_CHECK(bm_is_aligned(bindings[i].offset, BM_PLAN_ALIGNMENT), DATA_LOSS);
  }
  return bm_ok();
}

static bm_status_t verify_fill(const bm_plan_command_t *command,
                               const bm_plan_binding_t *bindings,
                               const uint32_t *constants) {
  BM_CHECK(command->binding_count == 1, DATA_LOSS);
  BM_CHECK(command->constant_count == 2, DATA_LOSS);
  const uint32_t pattern_bytes = constants[1];
  BM_CHECK(pattern_bytes == 1 || pattern_bytes == 2 || pattern_bytes == 4,
           DATA_LOSS);
  BM_CHECK(bindings[0].region != BM_PLAN_REGION_WEIGHTS, DATA_LOSS);
  BM_CHECK(bm_is_aligned(bindings[0].offset, pattern_bytes), DATA_LOSS);
  BM_CHECK(bm_is_aligned(bindings[0].length, pattern_bytes), DATA_LOSS);
  return bm_ok();
}

static bm_status_t verify_copy(const bm_plan_command_t *command,
                               const bm_plan_binding_t *bindings) {
  BM_CHECK(command->binding_count == 2, DATA_LOSS);
  BM_CHECK(command->constant_count == 0, DATA_LOSS);
  BM_CHECK(bindings[1].region != BM_PLAN_REGION_WEIGHTS, DATA_LOSS);
  BM_CHECK(bindings[0].length == bindings[1].length, DATA_LOSS);
  BM_CHECK(!bm_plan_bindings_overlap(&bindings[0], &bindings[1]), DATA_LOSS);
  return bm_ok();
}

// Not inlined into the loop over commands: the compiler would compute every
// status before the loop and spill it, which takes a sixth more code.
BM_NOINLINE static bm_status_t verify_command(
    const bm_plan_t *plan, const bm_plan_command_t *command) {
  BM_CHECK((command->flags & ~BM_COMMAND_BARRIER) == 0, UNIMPLEMENTED);
  BM_CHECK(bm_range_fits(command->first_binding, command->binding_count,
                         plan->binding_count),
           OUT_OF_RANGE);
  BM_CHECK(bm_range_fits(command->first_constant, command->constant_count,
                         plan->constant_count),
           OUT_OF_RANGE);
  const bm_plan_binding_t *bindings = plan->bindings + command->first_binding;
  // A table without rows may be NULL, and C allows no arithmetic on NULL.
  const uint32_t *constants = command->constant_count == 0
                                  ? NULL
                                  : plan->constants + command->first_constant;
  for (uint32_t i = 0; i < command->binding_count; ++i) {
    BM_CHECK(region_fits(plan, &bindings[i]), OUT_OF_RANGE);
  }
  switch (command->kind) {
    case BM_COMMAND_DISPATCH:
      return verify_dispatch(plan, command, bindings);
    case BM_COMMAND_FILL:
      return verify_fill(command, bindings, constants);
    case BM_COMMAND_COPY:
      return verify_copy(command, bindings);
    default:
      return BM_ERROR(UNIMPLEMENTED);
  }
}

static bm_status_t verify_tensor(const bm_plan_t *plan,
                                 const bm_plan_tensor_t *tensor) {
  BM_CHECK(tensor->name != NULL, DATA_LOSS);
  BM_CHECK(tensor->rank <= BM_PLAN_MAX_RANK, UNIMPLEMENTED);
  BM_CHECK(tensor->rank == 0 || tensor->shape != NULL, DATA_LOSS);
  BM_CHECK(bm_is_aligned(tensor->offset, BM_PLAN_ALIGNMENT), DATA_LOSS);
  BM_CHECK(bm_range_fits(tensor->offset, tensor->length, plan->arena_bytes),
           OUT_OF_RANGE);
  uint64_t bytes = bm_dtype_bytes(tensor->dtype);
  BM_CHECK(bytes != 0, DATA_LOSS);
  for (uint32_t i = 0; i < tensor->rank; ++i) {
    // Both factors are below 2^32: `bytes` by the check, the extent by type.
    bytes *= tensor->shape[i];
    BM_CHECK(bytes <= UINT32_MAX, DATA_LOSS);
  }
  BM_CHECK(bytes == tensor->length, DATA_LOSS);
  return bm_ok();
}

static bm_status_t verify_entry(const bm_plan_t *plan,
                                const bm_plan_entry_t *entry) {
  BM_CHECK(entry->name != NULL &&
               bm_range_fits(entry->first_command, entry->command_count,
                             plan->command_count) &&
               bm_range_fits(entry->first_input, entry->input_count,
                             plan->input_count) &&
               bm_range_fits(entry->first_output, entry->output_count,
                             plan->output_count),
           DATA_LOSS);
  return bm_ok();
}

bm_status_t bm_plan_verify(const bm_plan_t *plan) {
  BM_TRY(verify_header(plan));
  for (uint32_t i = 0; i < plan->export_count; ++i) {
    BM_TRY(verify_export(&plan->exports[i]));
  }
  for (uint32_t i = 0; i < plan->command_count; ++i) {
    BM_TRY(verify_command(plan, &plan->commands[i]));
  }
  for (uint32_t i = 0; i < plan->input_count; ++i) {
    BM_TRY(verify_tensor(plan, &plan->inputs[i]));
  }
  for (uint32_t i = 0; i < plan->output_count; ++i) {
    BM_TRY(verify_tensor(plan, &plan->outputs[i]));
  }
  for (uint32_t i = 0; i < plan->entry_count; ++i) {
    BM_TRY(verify_entry(plan, &plan->entries[i]));
  }
  return bm_ok();
}
