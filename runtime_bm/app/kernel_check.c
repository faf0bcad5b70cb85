// Compares kernel libraries with IREE's kernels: firmware with two builds of
// one model, the first of which has no libraries. Each dispatch that a library
// computes runs in both, on the same random numbers, and the real weights.
#include <stdbool.h>

#include "runtime_bm/app/compare.h"
#include "runtime_bm/app/console.h"
#include "runtime_bm/app/firmware.h"
#include "runtime_bm/app/machine.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/crt/trap.h"
#include "runtime_bm/plan/plan_run.h"

#define BM_FILE BM_FILE_KERNEL_CHECK

// Sums of floats in another order differ by less than this, as a part of the
// largest result.
static const float kTolerance = 2e-5f;
// Integers of 32 bits are sums; those of products have about this size.
enum { SHIFT_OF_SUMS = 12 };

// One build of the model.
typedef struct build_t {
  bm_model_t model;
  const uint8_t *dtypes;
} build_t;

typedef struct counts_t {
  uint32_t compared;
  uint32_t bad;
} counts_t;

typedef struct cost_t {
  uint64_t instret;
  uint64_t cycles;
} cost_t;

static uint32_t next_random(void) {
  static uint32_t state = 2463534242u;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static uint8_t *memory_of(const build_t *build,
                          const bm_plan_binding_t *binding) {
  return build->model.runner.regions[binding->region] + binding->offset;
}

// Products have elements of one byte or of four.
static uint32_t bytes_of(uint32_t dtype) {
  return dtype == BM_DTYPE_I8 ? 1 : 4;
}

// Fills memory with random elements: floats from -1 to 1, any int8.
static void fill(uint8_t *memory, uint32_t bytes, uint32_t dtype) {
  for (uint32_t i = 0; i < bytes; i += bytes_of(dtype)) {
    const int32_t number = (int32_t)next_random();
    if (dtype == BM_DTYPE_I8) {
      memory[i] = (uint8_t)number;
    } else if (dtype == BM_DTYPE_I32) {
      const int32_t sum = number >> SHIFT_OF_SUMS;
      memcpy(memory + i, &sum, sizeof(sum));
    } else {
      const float value = (float)number * 0x1p-31f;
      memcpy(memory + i, &value, sizeof(value));
    }
  }
}

static float largest(const float *values, uint32_t count) {
  float found = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const float size = values[i] < 0 ? -values[i] : values[i];
    if (size > found) found = size;
  }
  return found;
}

static bm_status_t run(const build_t *build, uint32_t index, cost_t *out) {
  const uint64_t cycles = bm_hal_cycles();
  const uint64_t instret = bm_hal_instret();
  const bm_plan_t *plan = build->model.runner.plan;
  const bm_status_t status = bm_plan_run(&build->model.runner, index, 1);
  if (plan->wait != NULL) BM_TRY(plan->wait());
  BM_TRY(status);
  out->instret = bm_hal_instret() - instret;
  out->cycles = bm_hal_cycles() - cycles;
  return bm_ok();
}

// The tensors of a command that both builds have, in their memory: bindings
// that are no weights, in the same order. The second build may have more, which
// only the library uses. Sets out_pairs[i] to the i-th one's number in both.
static bm_status_t match(const bm_plan_t *const plans[2], uint32_t index,
                         uint32_t (*out_pairs)[2], uint32_t *out_count) {
  uint32_t at[2] = {0, 0};
  *out_count = 0;
  for (;;) {
    for (uint32_t i = 0; i < 2; ++i) {
      const bm_plan_command_t *command = &bm_plan_commands(plans[i])[index];
      const bm_plan_binding_t *rows =
          bm_plan_bindings(plans[i]) + command->first_binding;
      while (at[i] < command->binding_count &&
             rows[at[i]].region == BM_PLAN_REGION_WEIGHTS) {
        ++at[i];
      }
    }
    if (at[0] == bm_plan_commands(plans[0])[index].binding_count) {
      return bm_ok();
    }
    BM_CHECK(at[1] < bm_plan_commands(plans[1])[index].binding_count,
             INVALID_ARGUMENT);
    for (uint32_t i = 0; i < 2; ++i) {
      out_pairs[*out_count][i] =
          bm_plan_commands(plans[i])[index].first_binding + at[i]++;
    }
    const bm_plan_binding_t *first =
        &bm_plan_bindings(plans[0])[out_pairs[*out_count][0]];
    const bm_plan_binding_t *second =
        &bm_plan_bindings(plans[1])[out_pairs[*out_count][1]];
    BM_CHECK(first->length == second->length && first->access == second->access,
             INVALID_ARGUMENT);
    ++*out_count;
  }
}

static BM_NOINLINE void report(uint32_t index, const bm_compare_t *compare,
                               const cost_t costs[2]) {
  bm_text_t line;
  bm_console_record(&line, "KERNEL");
  bm_console_field(&line, " index=", index);
  bm_text_string(&line, compare->ok ? " result=ok" : " result=mismatch");
  bm_text_string(&line, " max_abs=");
  bm_text_f64(&line, compare->max_abs);
  bm_console_field(&line, " differing=", compare->differing);
  bm_console_field(&line, " plain=", costs[0].instret);
  bm_console_field(&line, " library=", costs[1].instret);
  bm_console_field(&line, " plain_cycles=", costs[0].cycles);
  bm_console_field(&line, " library_cycles=", costs[1].cycles);
  bm_console_write(&line);
}

// Compares what a command writes. Integers are equal, but for roundings of what
// was computed from floats.
static void compare_result(bm_compare_t *compare, const build_t builds[2],
                           const uint32_t pair[2], bool reads_floats) {
  const bm_plan_binding_t *want =
      &bm_plan_bindings(builds[0].model.runner.plan)[pair[0]];
  const bm_plan_binding_t *got =
      &bm_plan_bindings(builds[1].model.runner.plan)[pair[1]];
  const uint32_t dtype = builds[0].dtypes[pair[0]];
  const uint32_t count = want->length / bytes_of(dtype);
  const bm_tensor_t tensor = {.data = memory_of(&builds[1], got),
                              .shape = &count,
                              .rank = 1,
                              .dtype = dtype,
                              .bytes = got->length};
  const void *wanted = memory_of(&builds[0], want);
  bm_golden_output_t policy = {.policy = BM_GOLDEN_EXACT, .min_cosine = -2};
  if (dtype == BM_DTYPE_F32) {
    policy.policy = BM_GOLDEN_FLOAT;
    policy.rtol = kTolerance;
    policy.atol = kTolerance * largest(wanted, count);
  } else if (reads_floats) {
    policy.policy = BM_GOLDEN_INT_STEP;
    policy.max_step = 1;
    policy.max_differing = count;
  }
  bm_compare_output(compare, &policy, &tensor, wanted);
}

static bm_status_t check(const build_t builds[2], uint32_t index,
                         counts_t *counts) {
  const bm_plan_t *const plans[2] = {builds[0].model.runner.plan,
                                     builds[1].model.runner.plan};
  uint32_t pairs[BM_PLAN_MAX_BINDINGS][2];
  uint32_t count;
  cost_t costs[2];
  bool reads_floats = false;
  BM_TRY(match(plans, index, pairs, &count));
  for (uint32_t i = 0; i < count; ++i) {
    const bm_plan_binding_t *binding = &bm_plan_bindings(plans[0])[pairs[i][0]];
    const uint32_t dtype = builds[0].dtypes[pairs[i][0]];
    uint8_t *memory = memory_of(&builds[0], binding);
    BM_CHECK(dtype != 0, UNIMPLEMENTED);
    fill(memory, binding->length, dtype);
    memcpy(memory_of(&builds[1], &bm_plan_bindings(plans[1])[pairs[i][1]]),
           memory, binding->length);
    if (dtype == BM_DTYPE_F32 && (binding->access & BM_PLAN_ACCESS_READ) != 0) {
      reads_floats = true;
    }
  }
  for (uint32_t i = 0; i < 2; ++i) {
    bm_trap_dispatch = index;
    bm_trap_model = bm_firmware_models[i].name;
    BM_TRY(run(&builds[i], index, &costs[i]));
  }
  bm_trap_model = NULL;
  bm_compare_t compare;
  bm_compare_begin(&compare);
  for (uint32_t i = 0; i < count; ++i) {
    if ((bm_plan_bindings(plans[0])[pairs[i][0]].access &
         BM_PLAN_ACCESS_WRITE) != 0) {
      compare_result(&compare, builds, pairs[i], reads_floats);
    }
  }
  report(index, &compare, costs);
  ++counts->compared;
  if (!compare.ok) ++counts->bad;
  return bm_ok();
}

// Each build has an arena of its own, one behind the other.
static bm_status_t init(build_t builds[2]) {
  bm_span_t left = bm_firmware_arena;
  BM_CHECK(bm_firmware_model_count == 2, INVALID_ARGUMENT);
  for (uint32_t i = 0; i < 2; ++i) {
    const bm_firmware_model_t *entry = &bm_firmware_models[i];
    const size_t bytes = entry->plan->header->arena_bytes;
    builds[i].dtypes = bm_firmware_goldens[i]->dtypes;
    BM_TRY(bm_model_init(&builds[i].model, entry->plan, left, entry->code));
    left.data += bytes;
    left.size -= bytes;
  }
  BM_CHECK(builds[0].model.runner.plan->header->commands.count ==
               builds[1].model.runner.plan->header->commands.count,
           INVALID_ARGUMENT);
  return bm_ok();
}

static bool is_linked(const bm_plan_t *plan, uint32_t index) {
  const bm_plan_command_t *command = &bm_plan_commands(plan)[index];
  return command->kind == BM_COMMAND_DISPATCH &&
         bm_plan_exports(plan)[command->export_index].executable ==
             BM_PLAN_LINKED;
}

static bm_status_t check_all(counts_t *counts) {
  static build_t builds[2];
  BM_TRY(init(builds));
  const bm_plan_t *plan = builds[1].model.runner.plan;
  for (uint32_t i = 0; i < plan->header->commands.count; ++i) {
    if (is_linked(plan, i)) BM_TRY(check(builds, i, counts));
  }
  return bm_ok();
}

int main(void) {
  bm_hal_init();
  const bm_hal_cpu_t cpu = bm_hal_cpu();
  const int unfit = bm_machine_check(&cpu);
  if (unfit != 0) return unfit;
  counts_t counts = {0, 0};
  bm_text_t line;
  const bm_status_t status = check_all(&counts);
  if (status.bits != 0 || counts.compared == 0) {
    bm_console_error(&line, status);
    bm_text_string(&line, status.bits != 0
                              ? "a dispatch cannot be compared, or failed"
                              : "no kernel library takes any dispatch");
    bm_console_write(&line);
    return BM_EXIT_ERROR;
  }
  bm_console_record(&line, counts.bad == 0 ? "PASS" : "FAIL");
  bm_console_field(&line, " cases=", counts.compared);
  if (counts.bad != 0) {
    bm_console_field(&line, " bad=", counts.bad);
    bm_text_string(&line, " models=");
    bm_text_string(&line, bm_firmware_models[1].name);
  }
  bm_console_write(&line);
  return counts.bad == 0 ? 0 : BM_EXIT_FAIL;
}
