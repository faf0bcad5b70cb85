// Implements bm.h: ties plan, kernels and arena together.
#include <stdbool.h>

#include "runtime_bm/base/memory.h"
#include "runtime_bm/base/range.h"
#include "runtime_bm/bm.h"
#include "runtime_bm/elf/elf_loader.h"
#include "runtime_bm/exec/executable.h"
#include "runtime_bm/harts/harts.h"
#include "runtime_bm/plan/plan_verify.h"

#define BM_FILE BM_FILE_MODEL

static bm_cspan_t elf_of(const bm_plan_executable_t *executable) {
  const bm_cspan_t elf = {executable->elf, executable->elf_bytes};
  return elf;
}

bm_status_t bm_model_info(const bm_plan_t *plan, bm_model_info_t *out_info) {
  uint64_t code_bytes = 0;
  const bm_plan_executable_t *executable = plan->executables;
  if (executable != NULL && executable->elf != NULL) {
    BM_TRY(
        bm_elf_measure(elf_of(executable), BM_ELF_MACHINE_NATIVE, &code_bytes));
  }
  out_info->arena_bytes = plan->header->arena_bytes;
  out_info->code_bytes = (size_t)code_bytes;
  return bm_ok();
}

// Returns the function of each export: those of the executable, in place of
// which others may be linked.
static const void *const *with_linked(const bm_plan_t *plan,
                                      const void *const *functions) {
  if (plan->header->function_count == 0) return functions;
  for (uint32_t i = 0; i < plan->header->exports.count; ++i) {
    const bm_plan_export_t *export_ = &bm_plan_exports(plan)[i];
    plan->table[i] =
        export_->executable == BM_PLAN_LINKED
            ? (const void *)(uintptr_t)plan->functions[export_->ordinal]
            : functions[i];
  }
  return plan->table;
}

// Loads the kernels if necessary, opens them and checks them against the plan.
static bm_status_t open_kernels(const bm_plan_t *plan, bm_span_t code,
                                const void *const **out_functions) {
  const uint32_t export_count = plan->header->exports.count;
  const bm_plan_executable_t *executable = plan->executables;
  if (export_count == 0) {
    *out_functions = NULL;
    return bm_ok();
  }
  bm_executable_query_t query = executable->library_query;
  bm_cspan_t image = bm_executable_linked_image();
  if (query == NULL) {
    bm_span_t loaded;
    void *function;
    BM_TRY(bm_elf_load(elf_of(executable), BM_ELF_MACHINE_NATIVE, code,
                       BM_EXECUTABLE_QUERY_SYMBOL, &loaded, &function));
    BM_TRY(bm_harts_code_written(loaded.data, loaded.size));
    query = (bm_executable_query_t)(uintptr_t)function;
    image.data = loaded.data;
    image.size = loaded.size;
  }
  bm_executable_t opened;
  BM_TRY(bm_executable_open(query, image, export_count, &opened));
  for (uint32_t i = 0; i < export_count; ++i) {
    const bm_plan_export_t *export_ = &bm_plan_exports(plan)[i];
    if (export_->executable == BM_PLAN_LINKED) continue;
    BM_TRY(bm_executable_check(&opened, i, bm_plan_string(plan, export_->name),
                               export_->binding_count,
                               export_->constant_count));
  }
  *out_functions = with_linked(plan, bm_executable_functions(&opened));
  return bm_ok();
}

bm_status_t bm_model_verify(const bm_plan_t *plan, size_t bytes,
                            bm_verify_t *at) {
  BM_CHECK(plan->checks != NULL, FAILED_PRECONDITION);
  BM_CHECK(at->part < BM_PART_COUNT, INVALID_ARGUMENT);
  return bm_check_step(plan->checks, bytes, at);
}

// All parts but the weights. A host program has no step after linking that
// could have filled in checks.
static bm_status_t verify_small_parts(const bm_plan_t *plan) {
  bm_verify_t at = {0};
  if (plan->checks == NULL || plan->checks->guard == 0) return bm_ok();
  while (at.part != BM_PART_WEIGHTS) {
    BM_TRY(bm_check_step(plan->checks, SIZE_MAX, &at));
  }
  return bm_ok();
}

bm_status_t bm_model_init(bm_model_t *out_model, const bm_plan_t *plan,
                          bm_span_t arena, bm_span_t code) {
  const bm_hal_cpu_t cpu = bm_harts_cpu();
  BM_TRY(verify_small_parts(plan));
  BM_TRY(bm_plan_verify(plan));
  BM_TRY(bm_plan_check_cpu(plan, cpu.isa_bits, cpu.vlen_bits));
  BM_CHECK(bm_is_aligned((uintptr_t)arena.data, BM_PLAN_ALIGNMENT),
           INVALID_ARGUMENT);
  BM_CHECK(plan->header->arena_bytes <= arena.size, RESOURCE_EXHAUSTED);
  const void *const *functions;
  BM_TRY(open_kernels(plan, code, &functions));
  out_model->runner = bm_plan_runner_of(plan, arena.data, functions);
  out_model->entry = bm_plan_entries(plan);
  return bm_model_reset(out_model);
}

static bool names_match(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

bm_status_t bm_model_entry(const bm_model_t *model, const char *name,
                           bm_model_t *out_model) {
  const bm_plan_t *plan = model->runner.plan;
  for (uint32_t i = 0; i < plan->header->entries.count; ++i) {
    const bm_plan_entry_t *entry = &bm_plan_entries(plan)[i];
    if (names_match(bm_plan_string(plan, entry->name), name)) {
      out_model->runner = model->runner;
      out_model->entry = entry;
      return bm_ok();
    }
  }
  return BM_ERROR(NOT_FOUND);
}

bm_status_t bm_model_reset(const bm_model_t *model) {
  return bm_plan_run(&model->runner, 0,
                     model->runner.plan->header->reset_count);
}

static void view(const bm_model_t *model, const bm_plan_tensor_t *tensor,
                 bm_tensor_t *out_tensor) {
  const bm_plan_t *plan = model->runner.plan;
  out_tensor->data =
      model->runner.regions[BM_PLAN_REGION_ARENA] + tensor->offset;
  out_tensor->name = bm_plan_string(plan, tensor->name);
  out_tensor->shape =
      tensor->rank == 0 ? NULL : bm_plan_extents(plan) + tensor->first_extent;
  out_tensor->rank = tensor->rank;
  out_tensor->dtype = tensor->dtype;
  out_tensor->bytes = tensor->length;
}

bm_status_t bm_model_input(const bm_model_t *model, uint32_t index,
                           bm_tensor_t *out_tensor) {
  const bm_plan_entry_t *entry = model->entry;
  BM_CHECK(index < entry->input_count, INVALID_ARGUMENT);
  view(model, &bm_plan_inputs(model->runner.plan)[entry->first_input + index],
       out_tensor);
  return bm_ok();
}

bm_status_t bm_model_output(const bm_model_t *model, uint32_t index,
                            bm_tensor_t *out_tensor) {
  const bm_plan_entry_t *entry = model->entry;
  BM_CHECK(index < entry->output_count, INVALID_ARGUMENT);
  view(model, &bm_plan_outputs(model->runner.plan)[entry->first_output + index],
       out_tensor);
  return bm_ok();
}

bm_status_t bm_model_set_input(bm_model_t *model, uint32_t index,
                               uint32_t dtype, const uint32_t *shape,
                               uint32_t rank, const void *data, size_t bytes) {
  bm_tensor_t tensor;
  BM_TRY(bm_model_input(model, index, &tensor));
  BM_CHECK(dtype == tensor.dtype, INVALID_ARGUMENT);
  BM_CHECK(rank == tensor.rank, INVALID_ARGUMENT);
  for (uint32_t i = 0; i < rank; ++i) {
    BM_CHECK(shape[i] == tensor.shape[i], INVALID_ARGUMENT);
  }
  BM_CHECK(bytes == tensor.bytes, INVALID_ARGUMENT);
  memcpy(tensor.data, data, bytes);
  return bm_ok();
}

static bm_status_t run(const bm_model_t *model) {
  const bm_plan_entry_t *entry = model->entry;
  if (entry->driver != BM_PLAN_NO_DRIVER) {
    return model->runner.plan->drivers[entry->driver](&model->runner);
  }
  return bm_plan_run(&model->runner, entry->first_command,
                     entry->command_count);
}

bm_status_t bm_model_run(bm_model_t *model) {
  const bm_plan_t *plan = model->runner.plan;
  const bm_status_t status = run(model);
  if (status.bits != 0 && plan->wait != NULL) {
    // Nothing may write to the arena from now on, and a library knows better
    // what failed.
    BM_TRY(plan->wait());
  }
  return status;
}

void bm_model_observe(bm_model_t *model, bm_observer_t observer,
                      void *context) {
  model->runner.observer = observer;
  model->runner.observer_context = context;
}
