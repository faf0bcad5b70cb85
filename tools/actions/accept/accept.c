// Checks on the build machine whether bm_model_init would accept a model: it
// runs the runtime's own checks on the same tables that the target gets. A plan
// has no pointers, so those of another machine are the same bytes.
//
//   accept                  checks the plan that plan_object.py writes to stdin
//   accept KERNELS LIBRARY  also checks the kernels, a 64-bit ELF whose
//                           executable library is at that address of its
//                           image
//
// Prints a status and the number of the command it concerns, -1 for none.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_bm/bm.h"
#include "runtime_bm/elf/elf_loader.h"
#include "runtime_bm/exec/executable.h"
#include "runtime_bm/hal/hal.h"
#include "runtime_bm/plan/plan_verify.h"

// What bm_plan_t and bm_plan_executable_t point to; the three tables follow.
// Nobody reads at an address: it is 0 for NULL, and as aligned as the variable.
typedef struct places_t {
  uint32_t weights;
  uint32_t state;
  uint32_t fast;
  uint32_t executables;
  uint32_t drivers;
  uint32_t library_query;
  uint32_t elf;
  uint32_t elf_bytes;
  uint32_t functions;
  uint32_t table;
  // Sizes of variables, 0 for none.
  uint32_t header_bytes;
  uint32_t bindings_bytes;
  uint32_t constants_bytes;
} places_t;

static bm_plan_t fit_plan;
static const void *library;

// Replaces the kernels' own, which is code for another machine.
static const void *query(uint32_t max_version, const void *environment) {
  (void)max_version;
  (void)environment;
  return library;
}

// The image's rules check which hart runs it.
bm_hal_cpu_t bm_hal_cpu(void) {
  const bm_hal_cpu_t cpu = {.isa_bits = fit_plan.header->isa,
                            .vlen_bits = fit_plan.header->vlen_bits};
  return cpu;
}

void bm_hal_code_written(void *memory, size_t size) {
  (void)memory;
  (void)size;
}

// Memory that this process keeps; exits without.
static uint8_t *memory_of(size_t alignment, size_t size) {
  uint8_t *memory =
      aligned_alloc(alignment, (size / alignment + 1) * alignment);
  if (memory == NULL) exit(EXIT_FAILURE);
  return memory;
}

// Reads a whole file; exits when it cannot.
static bm_cspan_t read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) exit(EXIT_FAILURE);
  const long size = ftell(file);
  if (size < 0 || fseek(file, 0, SEEK_SET) != 0) exit(EXIT_FAILURE);
  uint8_t *data = memory_of(1, (size_t)size);
  const bm_cspan_t contents = {data, (size_t)size};
  if (fread(data, 1, contents.size, file) != contents.size) exit(EXIT_FAILURE);
  fclose(file);
  return contents;
}

static void read_input(void *memory, size_t size) {
  if (fread(memory, 1, size, stdin) != size) exit(EXIT_FAILURE);
}

// Reads a variable of `size` bytes; NULL when there is none.
static void *read_variable(size_t size) {
  if (size == 0) return NULL;
  uint8_t *variable = memory_of(BM_PLAN_ALIGNMENT, size);
  read_input(variable, size);
  return variable;
}

// Exits when `size` bytes are fewer than `count` rows.
static void require_rows(uint32_t size, uint32_t count, size_t row_bytes) {
  if (size / row_bytes < count) {
    fputs("a table of the plan ends after its variable", stderr);
    exit(EXIT_FAILURE);
  }
}

// Stands for a function that is linked into the image.
static void linked(void) {}

// Returns what stands for the linked functions, as many as the plan has.
static const bm_plan_function_t *functions_of(uint32_t count) {
  bm_plan_function_t *functions =
      (void *)memory_of(sizeof(void *), count * sizeof(*functions));
  for (uint32_t i = 0; i < count; ++i) functions[i] = linked;
  return functions;
}

// A pointer that is only compared.
static void *pointer_to(uint32_t address) { return (void *)(uintptr_t)address; }

static void read_plan(void) {
  static bm_plan_executable_t executable;
  places_t places;
  read_input(&places, sizeof(places));
  const bm_plan_header_t *header = read_variable(places.header_bytes);
  bm_plan_binding_t *bindings = read_variable(places.bindings_bytes);
  uint32_t *constants = read_variable(places.constants_bytes);
  require_rows(places.header_bytes, 1, sizeof(*header));
  require_rows(places.header_bytes, header->bytes, 1);
  if (bindings != NULL) {
    require_rows(places.bindings_bytes, header->bindings.count,
                 sizeof(*bindings));
  }
  if (constants != NULL) {
    require_rows(places.constants_bytes, header->constants.count,
                 sizeof(*constants));
  }
  executable.library_query = places.library_query != 0 ? query : NULL;
  executable.elf = pointer_to(places.elf);
  executable.elf_bytes = places.elf_bytes;
  fit_plan.header = header;
  fit_plan.weights = pointer_to(places.weights);
  fit_plan.state = pointer_to(places.state);
  fit_plan.fast = pointer_to(places.fast);
  fit_plan.executables = places.executables != 0 ? &executable : NULL;
  fit_plan.drivers = pointer_to(places.drivers);
  fit_plan.bindings = bindings;
  fit_plan.constants = constants;
  if (places.functions != 0) {
    fit_plan.functions = functions_of(header->function_count);
  }
  if (places.table != 0) {
    fit_plan.table = (void *)memory_of(sizeof(void *),
                                       header->exports.count * sizeof(void *));
  }
}

// A copy of the plan's header and tables, to be changed, with room for `more`
// bytes behind them.
static bm_plan_header_t *copy_of_header(uint32_t more) {
  const uint32_t bytes = fit_plan.header->bytes;
  uint8_t *copy = memory_of(BM_PLAN_ALIGNMENT, bytes + more);
  memcpy(copy, fit_plan.header, bytes);
  return (bm_plan_header_t *)(void *)copy;
}

// On several harts too, so that a model that fits one can be built for them.
static bm_status_t verify(const bm_plan_t *plan) {
  BM_TRY(bm_plan_verify(plan));
  return bm_plan_verify_order(plan);
}

// The number of commands before the first bad one; -1 when the plan is refused
// for another reason.
static int first_bad_command(void) {
  static const bm_plan_table_t kNoRows = {0, 0};
  const bm_plan_entry_t nothing = {.driver = BM_PLAN_NO_DRIVER};
  const uint32_t commands = fit_plan.header->commands.count;
  const uint32_t end = fit_plan.header->bytes;
  bm_plan_header_t *header = copy_of_header(sizeof(nothing));
  bm_plan_t plan = fit_plan;
  plan.header = header;
  header->inputs = kNoRows;
  header->outputs = kNoRows;
  header->reset_count = 0;
  memcpy((uint8_t *)header + end, &nothing, sizeof(nothing));
  const bm_plan_table_t entries = {end, 1};
  header->bytes = end + sizeof(nothing);
  header->entries = entries;
  for (uint32_t count = 1; count <= commands; ++count) {
    header->commands.count = count;
    if (verify(&plan).bits != 0) return (int)count - 1;
  }
  return -1;
}

// Opens the kernels as bm_model_init does. Runs nothing, not even the commands
// that initialize the state.
static bm_status_t check_kernels(bm_cspan_t file, size_t address) {
  const bm_elf_machine_t *machine = (fit_plan.header->isa & BM_ISA_X86_64) != 0
                                        ? &bm_elf_machine_x86_64
                                        : &bm_elf_machine_riscv64;
  uint64_t bytes;
  BM_TRY(bm_elf_measure(file, machine, &bytes));
  const bm_span_t memory = {memory_of(BM_ELF_PAGE_BYTES, bytes), bytes};
  bm_span_t image;
  void *function;
  BM_TRY(bm_elf_load(file, machine, memory, BM_EXECUTABLE_QUERY_SYMBOL, &image,
                     &function));
  library = image.data + address;
  const bm_plan_executable_t opened = {.library_query = query};
  bm_plan_header_t *header = copy_of_header(0);
  bm_plan_t plan = fit_plan;
  header->reset_count = 0;
  plan.header = header;
  plan.executables = &opened;
  const bm_span_t arena = {memory_of(BM_PLAN_ALIGNMENT, header->arena_bytes),
                           header->arena_bytes};
  const bm_span_t no_code = {NULL, 0};
  bm_model_t model;
  return bm_model_init(&model, &plan, arena, no_code);
}

int main(int argc, char **argv) {
  read_plan();
  bm_status_t status = verify(&fit_plan);
  const int command = status.bits != 0 ? first_bad_command() : -1;
  if (status.bits == 0 && argc == 3) {
    status = check_kernels(read_file(argv[1]), strtoul(argv[2], NULL, 10));
  }
  printf("%08x %d\n", status.bits, command);
  return EXIT_SUCCESS;
}
