// Checks plan.h and golden.h against plan_abi.json; the compiler's tests check
// the emitter against the same file. Runs only on a host.
//
//   plan_abi_test FILE   compares; exit status 1 and the first differing line
//   plan_abi_test        prints the contents the file should have
//
// Offsets are for 64-bit targets; for 32-bit targets there are only sizes.
#include <stdio.h>
#include <string.h>

#include "runtime_bm/app/golden.h"
#include "runtime_bm/harts/harts.h"
#include "runtime_bm/plan/plan.h"

static char text[16384];
static size_t size;

static void put(const char *string) {
  const size_t length = strlen(string);
  if (size + length < sizeof(text)) memcpy(text + size, string, length + 1);
  size += length;
}

static void put_number(const char *format, const char *name, size_t value) {
  char line[128];
  snprintf(line, sizeof(line), format, name, value);
  put(line);
}

static const char *separator;

static void begin_enum(const char *name) {
  put(separator);
  put("    \"");
  put(name);
  put("\": {");
  separator = "";
}

static void constant(const char *name, size_t value) {
  put(separator);
  put_number("\n      \"%s\": %zu", name, value);
  separator = ",";
}

static void end_enum(void) {
  put("\n    }");
  separator = ",\n";
}

static void begin_struct(const char *name, size_t bytes, size_t bytes_32) {
  put(separator);
  put_number("    \"%s\": {\n      \"bytes\": %zu,\n", name, bytes);
  put_number("      \"%s\": %zu,\n      \"fields\": {", "bytes_32", bytes_32);
  separator = "";
}

static void field(const char *name, size_t offset, size_t bytes) {
  put(separator);
  put_number("\n        \"%s\": {\"offset\": %zu, ", name, offset);
  put_number("%s%zu}", "\"bytes\": ", bytes);
  separator = ",";
}

static void end_struct(void) {
  put("\n      }\n    }");
  separator = ",\n";
}

#define CONSTANT(prefix, name) constant(#name, prefix##name)
#define BEGIN_STRUCT(type) begin_struct(#type, sizeof(type), type##_bytes_32)
#define FIELD(type, name) \
  field(#name, offsetof(type, name), sizeof(((type *)0)->name))

static void enums(void) {
  begin_enum("dtype");
  CONSTANT(BM_DTYPE_, BOOL);
  CONSTANT(BM_DTYPE_, I8);
  CONSTANT(BM_DTYPE_, U8);
  CONSTANT(BM_DTYPE_, I16);
  CONSTANT(BM_DTYPE_, U16);
  CONSTANT(BM_DTYPE_, I32);
  CONSTANT(BM_DTYPE_, U32);
  CONSTANT(BM_DTYPE_, I64);
  CONSTANT(BM_DTYPE_, U64);
  CONSTANT(BM_DTYPE_, F16);
  CONSTANT(BM_DTYPE_, BF16);
  CONSTANT(BM_DTYPE_, F32);
  CONSTANT(BM_DTYPE_, F64);
  end_enum();
  begin_enum("isa");
  CONSTANT(BM_ISA_, RV64);
  CONSTANT(BM_ISA_, V);
  CONSTANT(BM_ISA_, X86_64);
  CONSTANT(BM_ISA_, RV32);
  CONSTANT(BM_ISA_, ZVE32F);
  CONSTANT(BM_ISA_, P);
  CONSTANT(BM_ISA_, ZVQDOTQ);
  CONSTANT(BM_ISA_, ZVFH);
  CONSTANT(BM_ISA_, XSMTVDOT);
  end_enum();
  begin_enum("region");
  CONSTANT(BM_PLAN_REGION_, ARENA);
  CONSTANT(BM_PLAN_REGION_, WEIGHTS);
  CONSTANT(BM_PLAN_REGION_, STATE);
  end_enum();
  begin_enum("access");
  CONSTANT(BM_PLAN_ACCESS_, READ);
  CONSTANT(BM_PLAN_ACCESS_, WRITE);
  end_enum();
  begin_enum("command");
  CONSTANT(BM_COMMAND_, DISPATCH);
  CONSTANT(BM_COMMAND_, FILL);
  CONSTANT(BM_COMMAND_, COPY);
  end_enum();
  begin_enum("command_flags");
  CONSTANT(BM_COMMAND_, BARRIER);
  end_enum();
  begin_enum("limits");
  CONSTANT(BM_PLAN_, ALIGNMENT);
  CONSTANT(BM_PLAN_, MAX_BINDINGS);
  CONSTANT(BM_, MAX_HARTS);
  CONSTANT(BM_PLAN_, MAX_RANK);
  CONSTANT(BM_PLAN_, LINKED);
  CONSTANT(BM_PLAN_, NO_DRIVER);
  CONSTANT(BM_, GOLDEN_ALIGNMENT);
  end_enum();
  begin_enum("golden_policy");
  CONSTANT(BM_GOLDEN_, EXACT);
  CONSTANT(BM_GOLDEN_, FLOAT);
  CONSTANT(BM_GOLDEN_, INT_STEP);
  end_enum();
}

static void plan_structs(void) {
  BEGIN_STRUCT(bm_plan_table_t);
  FIELD(bm_plan_table_t, offset);
  FIELD(bm_plan_table_t, count);
  end_struct();
  BEGIN_STRUCT(bm_plan_binding_t);
  FIELD(bm_plan_binding_t, region);
  FIELD(bm_plan_binding_t, access);
  FIELD(bm_plan_binding_t, alignment);
  FIELD(bm_plan_binding_t, offset);
  FIELD(bm_plan_binding_t, length);
  end_struct();
  BEGIN_STRUCT(bm_plan_command_t);
  FIELD(bm_plan_command_t, kind);
  FIELD(bm_plan_command_t, flags);
  FIELD(bm_plan_command_t, export_index);
  FIELD(bm_plan_command_t, binding_count);
  FIELD(bm_plan_command_t, constant_count);
  FIELD(bm_plan_command_t, workgroup_count);
  FIELD(bm_plan_command_t, first_binding);
  FIELD(bm_plan_command_t, first_constant);
  end_struct();
  BEGIN_STRUCT(bm_plan_tensor_t);
  FIELD(bm_plan_tensor_t, name);
  FIELD(bm_plan_tensor_t, dtype);
  FIELD(bm_plan_tensor_t, rank);
  FIELD(bm_plan_tensor_t, first_extent);
  FIELD(bm_plan_tensor_t, offset);
  FIELD(bm_plan_tensor_t, length);
  end_struct();
  BEGIN_STRUCT(bm_plan_export_t);
  FIELD(bm_plan_export_t, name);
  FIELD(bm_plan_export_t, executable);
  FIELD(bm_plan_export_t, ordinal);
  FIELD(bm_plan_export_t, binding_count);
  FIELD(bm_plan_export_t, constant_count);
  end_struct();
  BEGIN_STRUCT(bm_plan_entry_t);
  FIELD(bm_plan_entry_t, name);
  FIELD(bm_plan_entry_t, driver);
  FIELD(bm_plan_entry_t, first_command);
  FIELD(bm_plan_entry_t, command_count);
  FIELD(bm_plan_entry_t, first_input);
  FIELD(bm_plan_entry_t, input_count);
  FIELD(bm_plan_entry_t, first_output);
  FIELD(bm_plan_entry_t, output_count);
  end_struct();
  BEGIN_STRUCT(bm_plan_header_t);
  FIELD(bm_plan_header_t, abi_version);
  FIELD(bm_plan_header_t, bytes);
  FIELD(bm_plan_header_t, isa);
  FIELD(bm_plan_header_t, vlen_bits);
  FIELD(bm_plan_header_t, arena_bytes);
  FIELD(bm_plan_header_t, weights_bytes);
  FIELD(bm_plan_header_t, state_bytes);
  FIELD(bm_plan_header_t, name);
  FIELD(bm_plan_header_t, executable_count);
  FIELD(bm_plan_header_t, driver_count);
  FIELD(bm_plan_header_t, reset_count);
  FIELD(bm_plan_header_t, function_count);
  FIELD(bm_plan_header_t, exports);
  FIELD(bm_plan_header_t, commands);
  FIELD(bm_plan_header_t, bindings);
  FIELD(bm_plan_header_t, constants);
  FIELD(bm_plan_header_t, inputs);
  FIELD(bm_plan_header_t, outputs);
  FIELD(bm_plan_header_t, extents);
  FIELD(bm_plan_header_t, entries);
  FIELD(bm_plan_header_t, strings);
  FIELD(bm_plan_header_t, checks);
  end_struct();
  BEGIN_STRUCT(bm_plan_executable_t);
  FIELD(bm_plan_executable_t, library_query);
  FIELD(bm_plan_executable_t, elf);
  FIELD(bm_plan_executable_t, elf_bytes);
  end_struct();
  BEGIN_STRUCT(bm_plan_t);
  FIELD(bm_plan_t, header);
  FIELD(bm_plan_t, weights);
  FIELD(bm_plan_t, state);
  FIELD(bm_plan_t, executables);
  FIELD(bm_plan_t, drivers);
  FIELD(bm_plan_t, bindings);
  FIELD(bm_plan_t, constants);
  FIELD(bm_plan_t, checks);
  FIELD(bm_plan_t, functions);
  FIELD(bm_plan_t, table);
  FIELD(bm_plan_t, wait);
  end_struct();
  BEGIN_STRUCT(bm_check_t);
  FIELD(bm_check_t, start);
  FIELD(bm_check_t, end);
  FIELD(bm_check_t, sum);
  FIELD(bm_check_t, guard);
  end_struct();
}

static void golden_structs(void) {
  BEGIN_STRUCT(bm_golden_output_t);
  FIELD(bm_golden_output_t, policy);
  FIELD(bm_golden_output_t, atol);
  FIELD(bm_golden_output_t, rtol);
  FIELD(bm_golden_output_t, min_cosine);
  FIELD(bm_golden_output_t, max_step);
  FIELD(bm_golden_output_t, max_differing);
  end_struct();
  BEGIN_STRUCT(bm_golden_call_t);
  FIELD(bm_golden_call_t, entry);
  FIELD(bm_golden_call_t, reset);
  end_struct();
  BEGIN_STRUCT(bm_golden_t);
  FIELD(bm_golden_t, case_count);
  FIELD(bm_golden_t, data);
  FIELD(bm_golden_t, data_bytes);
  FIELD(bm_golden_t, outputs);
  FIELD(bm_golden_t, labels);
  FIELD(bm_golden_t, framework_correct);
  FIELD(bm_golden_t, calls);
  FIELD(bm_golden_t, dtypes);
  end_struct();
}

// Returns 0 when the file's contents are `text`.
static int compare(const char *path) {
  static char found[sizeof(text) + 1];
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return 1;
  }
  found[fread(found, 1, sizeof(text), file)] = '\0';
  fclose(file);
  if (strcmp(found, text) == 0) return 0;
  size_t line = 1;
  size_t i = 0;
  for (; found[i] == text[i]; ++i) line += text[i] == '\n';
  printf(
      "%s:%zu: is not what plan.h and golden.h say; raise BM_PLAN_ABI_VERSION "
      "and rewrite the file: run this test without arguments\n",
      path, line);
  return 1;
}

int main(int argc, char **argv) {
  put("{\n");
  put_number("  \"%s\": %zu,\n", "version", BM_PLAN_ABI_VERSION);
  put("  \"enums\": {\n");
  separator = "";
  enums();
  put("\n  },\n  \"structs\": {\n");
  separator = "";
  plan_structs();
  golden_structs();
  put("\n  }\n}\n");
  if (size >= sizeof(text)) return 2;
  if (argc > 1) return compare(argv[1]);
  fputs(text, stdout);
  return 0;
}
