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
  BM_CHECK((plan->header->isa & ~isa_bits) == 0, FAILED_PRECONDITION);
  BM_CHECK(plan->header->vlen_bits <= vlen_bits, FAILED_PRECONDITION);
  return bm_ok();
}

static bool region_fits(const bm_plan_header_t *header,
                        const bm_plan_binding_t *binding) {
  const uint32_t sizes[] = {header->arena_bytes, header->weights_bytes,
                            header->state_bytes, header->fast_bytes};
  return binding->region < BM_PLAN_REGION_COUNT &&
         bm_range_fits(binding->offset, binding->length,
                       sizes[binding->region]);
}

// True when memory of `size` bytes exists.
static bool memory_ok(const void *memory, uint32_t size) {
  return memory != NULL || size == 0;
}

// True when the rows lie within the plan, behind its header. Those of a table
// that drivers change are in memory instead.
static bool table_ok(const bm_plan_header_t *header, bm_plan_table_t table,
                     uint32_t row_bytes, const void *memory) {
  if (table.count == 0 || memory != NULL) return table.offset == 0;
  return table.offset >= sizeof(*header) &&
         (row_bytes == 1 || bm_is_aligned(table.offset, sizeof(uint32_t))) &&
         bm_range_fits(table.offset, (uint64_t)table.count * row_bytes,
                       header->bytes);
}

static bm_status_t verify_machine(const bm_plan_header_t *header) {
  const uint32_t machines = BM_ISA_RV32 | BM_ISA_RV64 | BM_ISA_X86_64;
  const uint32_t vectors = BM_ISA_V | BM_ISA_ZVE32F;
  const uint32_t machine = header->isa & machines;
  const bool vector = (header->isa & vectors) != 0;
  // Exactly one of them.
  BM_CHECK(machine != 0 && (machine & (machine - 1)) == 0, DATA_LOSS);
  const uint32_t others = BM_ISA_P | BM_ISA_ZVDOT4A8I | BM_ISA_ZVFH |
                          BM_ISA_XSMTVDOT | BM_ISA_ZVFBFMIN | BM_ISA_ZVFBFWMA;
  BM_CHECK((header->isa & ~(machines | vectors | others)) == 0, UNIMPLEMENTED);
  BM_CHECK(vector == (header->vlen_bits != 0), DATA_LOSS);
  return bm_ok();
}

static bm_status_t verify_tables(const bm_plan_t *plan) {
  const bm_plan_header_t *header = plan->header;
  const struct {
    bm_plan_table_t table;
    uint32_t row_bytes;
    const void *memory;
  } tables[] = {
      {header->exports, sizeof(bm_plan_export_t), NULL},
      {header->commands, sizeof(bm_plan_command_t), NULL},
      {header->bindings, sizeof(bm_plan_binding_t), plan->bindings},
      {header->constants, sizeof(uint32_t), plan->constants},
      {header->inputs, sizeof(bm_plan_tensor_t), NULL},
      {header->outputs, sizeof(bm_plan_tensor_t), NULL},
      {header->extents, sizeof(uint32_t), NULL},
      {header->entries, sizeof(bm_plan_entry_t), NULL},
      {header->strings, 1, NULL},
  };
  for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); ++i) {
    BM_CHECK(table_ok(header, tables[i].table, tables[i].row_bytes,
                      tables[i].memory),
             OUT_OF_RANGE);
  }
  // There is always the plan's name, and every string ends at the last one's
  // end at the latest.
  BM_CHECK(header->strings.count != 0 &&
               *bm_plan_string(plan, header->strings.count - 1) == '\0',
           DATA_LOSS);
  return bm_ok();
}

static bool string_ok(const bm_plan_header_t *header, uint32_t string) {
  return string < header->strings.count;
}

// What the linker or loader has provided.
static bm_status_t verify_place(const bm_plan_t *plan) {
  const bm_plan_header_t *header = plan->header;
  BM_CHECK(memory_ok(plan->weights, header->weights_bytes) &&
               bm_is_aligned((uintptr_t)plan->weights, BM_PLAN_ALIGNMENT),
           DATA_LOSS);
  BM_CHECK(memory_ok(plan->state, header->state_bytes) &&
               bm_is_aligned((uintptr_t)plan->state, BM_PLAN_ALIGNMENT),
           DATA_LOSS);
  BM_CHECK(memory_ok(plan->fast, header->fast_bytes) &&
               bm_is_aligned((uintptr_t)plan->fast, BM_PLAN_ALIGNMENT),
           DATA_LOSS);
  BM_CHECK(memory_ok(plan->drivers, header->driver_count), DATA_LOSS);
  BM_CHECK(header->executable_count <= 1, UNIMPLEMENTED);
  BM_CHECK(memory_ok(plan->functions, header->function_count) &&
               memory_ok(plan->table, header->function_count),
           DATA_LOSS);
  // A plan that only copies and fills has no kernels.
  BM_CHECK((header->exports.count != 0) == (header->executable_count != 0) &&
               memory_ok(plan->executables, header->executable_count),
           DATA_LOSS);
  if (header->executable_count != 0) {
    const bm_plan_executable_t *executable = plan->executables;
    BM_CHECK((executable->library_query != NULL) == (executable->elf == NULL) &&
                 (executable->elf != NULL) == (executable->elf_bytes != 0),
             DATA_LOSS);
  }
  return bm_ok();
}

static bm_status_t verify_header(const bm_plan_t *plan) {
  const bm_plan_header_t *header = plan->header;
  BM_CHECK(header != NULL && bm_is_aligned((uintptr_t)header, sizeof(uint32_t)),
           DATA_LOSS);
  BM_CHECK(header->abi_version == BM_PLAN_ABI_VERSION, UNIMPLEMENTED);
  BM_CHECK(header->bytes >= sizeof(*header), DATA_LOSS);
  BM_TRY(verify_machine(header));
  BM_TRY(verify_tables(plan));
  BM_TRY(verify_place(plan));
  BM_CHECK(string_ok(header, header->name), DATA_LOSS);
  // A model whose outputs have no elements has no commands.
  BM_CHECK(header->entries.count != 0 &&
               header->reset_count <= header->commands.count,
           DATA_LOSS);
  return bm_ok();
}

static bm_status_t verify_export(const bm_plan_t *plan,
                                 const bm_plan_export_t *export_,
                                 uint32_t index) {
  const bm_plan_header_t *header = plan->header;
  BM_CHECK(string_ok(header, export_->name), DATA_LOSS);
  if (export_->executable == BM_PLAN_LINKED) {
    BM_CHECK(export_->ordinal < header->function_count, OUT_OF_RANGE);
    BM_CHECK(plan->functions[export_->ordinal] != NULL, DATA_LOSS);
  } else {
    BM_CHECK(export_->executable < header->executable_count, OUT_OF_RANGE);
    // The one executable has a kernel for each row, also for a linked one.
    BM_CHECK(export_->ordinal == index, UNIMPLEMENTED);
  }
  BM_CHECK(export_->binding_count <= BM_PLAN_MAX_BINDINGS, UNIMPLEMENTED);
  BM_CHECK(export_->constant_count <= MAX_EXPORT_CONSTANTS, UNIMPLEMENTED);
  return bm_ok();
}

static bm_status_t verify_dispatch(const bm_plan_t *plan,
                                   const bm_plan_command_t *command,
                                   const bm_plan_binding_t *bindings) {
  BM_CHECK(command->export_index < plan->header->exports.count, OUT_OF_RANGE);
  const bm_plan_export_t *export_ =
      &bm_plan_exports(plan)[command->export_index];
  BM_CHECK(command->binding_count == export_->binding_count, DATA_LOSS);
  BM_CHECK(command->constant_count == export_->constant_count, DATA_LOSS);
  BM_CHECK(command->workgroup_count[0] != 0, DATA_LOSS);
  BM_CHECK(command->workgroup_count[1] != 0, DATA_LOSS);
  BM_CHECK(command->workgroup_count[2] != 0, DATA_LOSS);
  BM_CHECK(command->workgroup_count[2] <= MAX_WORKGROUP_COUNT_Z, UNIMPLEMENTED);
  for (uint32_t i = 0; i < command->binding_count; ++i) {
    BM_CHECK(bindings[i].access != 0, DATA_LOSS);
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
  BM_CHECK(bindings[0].access == BM_PLAN_ACCESS_WRITE, DATA_LOSS);
  BM_CHECK(bindings[0].alignment == pattern_bytes, DATA_LOSS);
  BM_CHECK(bm_is_aligned(bindings[0].length, pattern_bytes), DATA_LOSS);
  return bm_ok();
}

static bm_status_t verify_copy(const bm_plan_command_t *command,
                               const bm_plan_binding_t *bindings) {
  BM_CHECK(command->binding_count == 2, DATA_LOSS);
  BM_CHECK(command->constant_count == 0, DATA_LOSS);
  BM_CHECK(bindings[0].access == BM_PLAN_ACCESS_READ &&
               bindings[1].access == BM_PLAN_ACCESS_WRITE,
           DATA_LOSS);
  BM_CHECK(bindings[0].length == bindings[1].length, DATA_LOSS);
  BM_CHECK(!bm_plan_bindings_overlap(&bindings[0], &bindings[1]), DATA_LOSS);
  return bm_ok();
}

static bm_status_t verify_binding(const bm_plan_header_t *header,
                                  const bm_plan_binding_t *binding) {
  const uint32_t known = BM_PLAN_ACCESS_READ | BM_PLAN_ACCESS_WRITE;
  BM_CHECK(region_fits(header, binding), OUT_OF_RANGE);
  BM_CHECK((binding->access & ~known) == 0, UNIMPLEMENTED);
  const uint32_t alignment = binding->alignment;
  BM_CHECK(alignment != 0 && (alignment & (alignment - 1)) == 0 &&
               alignment <= BM_PLAN_ALIGNMENT,
           DATA_LOSS);
  BM_CHECK(bm_is_aligned(binding->offset, alignment), DATA_LOSS);
  BM_CHECK(binding->region != BM_PLAN_REGION_WEIGHTS ||
               binding->access == BM_PLAN_ACCESS_READ,
           DATA_LOSS);
  return bm_ok();
}

// Not inlined into the loop over commands: the compiler would compute every
// status before the loop and spill it, which takes a sixth more code.
BM_NOINLINE static bm_status_t verify_command(
    const bm_plan_t *plan, const bm_plan_command_t *command) {
  BM_CHECK((command->flags & ~BM_COMMAND_BARRIER) == 0, UNIMPLEMENTED);
  const bm_plan_header_t *header = plan->header;
  BM_CHECK(bm_range_fits(command->first_binding, command->binding_count,
                         header->bindings.count),
           OUT_OF_RANGE);
  BM_CHECK(bm_range_fits(command->first_constant, command->constant_count,
                         header->constants.count),
           OUT_OF_RANGE);
  const bm_plan_binding_t *bindings =
      bm_plan_bindings(plan) + command->first_binding;
  const uint32_t *constants = bm_plan_constants(plan) + command->first_constant;
  for (uint32_t i = 0; i < command->binding_count; ++i) {
    BM_TRY(verify_binding(header, &bindings[i]));
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
  const bm_plan_header_t *header = plan->header;
  BM_CHECK(string_ok(header, tensor->name), DATA_LOSS);
  BM_CHECK(tensor->rank <= BM_PLAN_MAX_RANK, UNIMPLEMENTED);
  BM_CHECK(
      bm_range_fits(tensor->first_extent, tensor->rank, header->extents.count),
      OUT_OF_RANGE);
  BM_CHECK(bm_is_aligned(tensor->offset, BM_PLAN_ALIGNMENT), DATA_LOSS);
  BM_CHECK(bm_range_fits(tensor->offset, tensor->length, header->arena_bytes),
           OUT_OF_RANGE);
  uint64_t bytes = bm_dtype_bytes(tensor->dtype);
  BM_CHECK(bytes != 0, DATA_LOSS);
  for (uint32_t i = 0; i < tensor->rank; ++i) {
    // Both factors are below 2^32: `bytes` by the check, the extent by type.
    bytes *= bm_plan_extents(plan)[tensor->first_extent + i];
    BM_CHECK(bytes <= UINT32_MAX, DATA_LOSS);
  }
  BM_CHECK(bytes == tensor->length, DATA_LOSS);
  return bm_ok();
}

static bm_status_t verify_entry(const bm_plan_header_t *header,
                                const bm_plan_entry_t *entry) {
  BM_CHECK(string_ok(header, entry->name) &&
               bm_range_fits(entry->first_command, entry->command_count,
                             header->commands.count) &&
               bm_range_fits(entry->first_input, entry->input_count,
                             header->inputs.count) &&
               bm_range_fits(entry->first_output, entry->output_count,
                             header->outputs.count) &&
               (entry->driver == BM_PLAN_NO_DRIVER ||
                entry->driver < header->driver_count),
           DATA_LOSS);
  return bm_ok();
}

bm_status_t bm_plan_verify(const bm_plan_t *plan) {
  BM_TRY(verify_header(plan));
  const bm_plan_header_t *header = plan->header;
  for (uint32_t i = 0; i < header->exports.count; ++i) {
    BM_TRY(verify_export(plan, &bm_plan_exports(plan)[i], i));
  }
  for (uint32_t i = 0; i < header->commands.count; ++i) {
    BM_TRY(verify_command(plan, &bm_plan_commands(plan)[i]));
  }
  for (uint32_t i = 0; i < header->inputs.count; ++i) {
    BM_TRY(verify_tensor(plan, &bm_plan_inputs(plan)[i]));
  }
  for (uint32_t i = 0; i < header->outputs.count; ++i) {
    BM_TRY(verify_tensor(plan, &bm_plan_outputs(plan)[i]));
  }
  for (uint32_t i = 0; i < header->entries.count; ++i) {
    BM_TRY(verify_entry(header, &bm_plan_entries(plan)[i]));
  }
#ifdef BM_SEVERAL_HARTS
  BM_TRY(bm_plan_verify_order(plan));
#endif
  return bm_ok();
}
