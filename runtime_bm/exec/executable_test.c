#include "runtime_bm/exec/executable.h"

#include "runtime_bm/abi/executable_library.h"
#include "runtime_bm/testing/bm_test.h"
#include "runtime_bm/testing/fake_library.h"

// A copy of the fake library that a test may corrupt, in one piece so that it
// is an image.
static struct {
  bm_abi_library_t library;
  bm_abi_library_header_t header;
  bm_abi_dispatch_attrs_t attrs[FAKE_EXPORT_COUNT];
  const char *names[FAKE_EXPORT_COUNT];
  char name_texts[FAKE_EXPORT_COUNT][16];
  bm_abi_dispatch_fn_t functions[FAKE_EXPORT_COUNT];  // the end of the image
} copy;

static const void *copy_query(uint32_t max_version, const void *environment) {
  return max_version >= 6 && environment != NULL ? &copy.library : NULL;
}

static const void *null_query(uint32_t max_version, const void *environment) {
  (void)max_version;
  (void)environment;
  return NULL;
}

static void reset(void) {
  const bm_abi_library_t *library = fake_library_query(6, &copy);
  copy.library = *library;
  copy.header = *library->header;
  copy.library.header = &copy.header;
  copy.library.exports.functions = copy.functions;
  copy.library.exports.attrs = copy.attrs;
  copy.library.exports.names = copy.names;
  for (uint32_t i = 0; i < FAKE_EXPORT_COUNT; ++i) {
    // In the image, but never called.
    copy.functions[i] = (bm_abi_dispatch_fn_t)(uintptr_t)&copy;
    copy.attrs[i] = library->exports.attrs[i];
    copy.names[i] = copy.name_texts[i];
    for (uint32_t c = 0; c < sizeof(copy.name_texts[i]); ++c) {
      copy.name_texts[i][c] = library->exports.names[i][c];
      if (library->exports.names[i][c] == '\0') break;
    }
  }
}

static bm_status_t open_copy(bm_executable_t *out) {
  const bm_cspan_t image = {(const uint8_t *)&copy, sizeof(copy)};
  return bm_executable_open(copy_query, image, FAKE_EXPORT_COUNT, out);
}

// Opens the copy and checks its first kernel.
static bm_status_t check_copy(void) {
  bm_executable_t executable;
  BM_TRY(open_copy(&executable));
  return bm_executable_check(&executable, FAKE_MULTIPLY, "fake_multiply", 3, 1);
}

static void accepts_the_fake_library(void) {
  bm_executable_t executable;
  BM_EXPECT_OK(bm_executable_open(fake_library_query,
                                  bm_executable_linked_image(),
                                  FAKE_EXPORT_COUNT, &executable));
  BM_EXPECT_OK(bm_executable_check(&executable, FAKE_ADD, "fake_add", 3, 1));
  BM_EXPECT_OK(bm_executable_check(&executable, FAKE_IDS, "fake_ids", 1, 0));
  const bm_abi_library_t *library = fake_library_query(6, &copy);
  BM_EXPECT(bm_executable_functions(&executable) ==
            (const void *const *)library->exports.functions);
  reset();
  BM_EXPECT_OK(check_copy());
}

static void refuses_what_the_plan_does_not_expect(void) {
  bm_executable_t executable;
  reset();
  BM_EXPECT_OK(open_copy(&executable));
  BM_EXPECT_CODE(
      bm_executable_check(&executable, FAKE_ADD, "fake_multiply", 3, 1),
      NOT_FOUND);
  BM_EXPECT_CODE(bm_executable_check(&executable, FAKE_ADD, "fake_ad", 3, 1),
                 NOT_FOUND);
  BM_EXPECT_CODE(bm_executable_check(&executable, FAKE_ADD, "fake_addx", 3, 1),
                 NOT_FOUND);
  BM_EXPECT_CODE(bm_executable_check(&executable, FAKE_ADD, "fake_add", 2, 1),
                 INVALID_ARGUMENT);
  BM_EXPECT_CODE(bm_executable_check(&executable, FAKE_ADD, "fake_add", 3, 0),
                 INVALID_ARGUMENT);
  BM_EXPECT_CODE(
      bm_executable_open(fake_library_query, bm_executable_linked_image(),
                         FAKE_EXPORT_COUNT - 1, &executable),
      INVALID_ARGUMENT);
}

static void refuses_what_this_runtime_does_not_offer(void) {
  bm_executable_t executable;
  BM_EXPECT_CODE(bm_executable_open(null_query, bm_executable_linked_image(),
                                    FAKE_EXPORT_COUNT, &executable),
                 UNIMPLEMENTED);
  reset();
  copy.header.version = 7;
  BM_EXPECT_CODE(check_copy(), UNIMPLEMENTED);
  reset();
  copy.header.sanitizer = 1;
  BM_EXPECT_CODE(check_copy(), UNIMPLEMENTED);
  reset();
  copy.library.imports.count = 1;
  BM_EXPECT_CODE(check_copy(), UNIMPLEMENTED);
  reset();
  copy.library.constants.count = 1;
  BM_EXPECT_CODE(check_copy(), UNIMPLEMENTED);
  reset();
  copy.attrs[FAKE_MULTIPLY].flags = BM_ABI_DISPATCH_WORKGROUP_SIZE_DYNAMIC;
  BM_EXPECT_CODE(check_copy(), UNIMPLEMENTED);
  reset();
  copy.attrs[FAKE_MULTIPLY].local_memory_pages = 1;
  BM_EXPECT_CODE(check_copy(), UNIMPLEMENTED);
  reset();
  copy.attrs[FAKE_MULTIPLY].parameter_count = 1;
  BM_EXPECT_CODE(check_copy(), UNIMPLEMENTED);
  reset();
  copy.attrs[FAKE_MULTIPLY].flags = BM_ABI_DISPATCH_SEQUENTIAL;
  BM_EXPECT_OK(check_copy());
}

// Sets a pointer of the copy and expects the library to be refused.
#define EXPECT_BAD_POINTER(lvalue, value)    \
  do {                                       \
    reset();                                 \
    (lvalue) = (void *)(uintptr_t)(value);   \
    BM_EXPECT_CODE(check_copy(), DATA_LOSS); \
  } while (0)

static void refuses_an_image_that_is_too_small(void) {
  bm_executable_t executable;
  bm_cspan_t image = {(const uint8_t *)&copy, sizeof(copy) - 1};
  reset();
  BM_EXPECT_CODE(
      bm_executable_open(copy_query, image, FAKE_EXPORT_COUNT, &executable),
      DATA_LOSS);
  // The library itself is before the image.
  image.data += sizeof(copy.library);
  image.size -= sizeof(copy.library) - 1;
  BM_EXPECT_CODE(
      bm_executable_open(copy_query, image, FAKE_EXPORT_COUNT, &executable),
      DATA_LOSS);
}

static void refuses_pointers_out_of_the_image(void) {
  const uintptr_t end = (uintptr_t)&copy + sizeof(copy);
  const uintptr_t before = (uintptr_t)&copy - 8;
  EXPECT_BAD_POINTER(copy.library.header, 0);
  EXPECT_BAD_POINTER(copy.library.header, end);
  EXPECT_BAD_POINTER(copy.library.header, (uintptr_t)&copy.header + 1);
  EXPECT_BAD_POINTER(copy.library.exports.functions, end - 8);
  EXPECT_BAD_POINTER(copy.library.exports.attrs, before);
  EXPECT_BAD_POINTER(copy.library.exports.names, UINTPTR_MAX - 7);
  EXPECT_BAD_POINTER(copy.library.exports.names, 0);
  reset();
  copy.functions[FAKE_MULTIPLY] = (bm_abi_dispatch_fn_t)end;
  BM_EXPECT_CODE(check_copy(), DATA_LOSS);
  reset();
  copy.functions[FAKE_MULTIPLY] = NULL;
  BM_EXPECT_CODE(check_copy(), DATA_LOSS);
  // A name that extends past the image is invalid.
  reset();
  copy.names[FAKE_MULTIPLY] = (const char *)end - 1;
  BM_EXPECT_CODE(check_copy(), NOT_FOUND);
  reset();
  copy.names[FAKE_MULTIPLY] = NULL;
  BM_EXPECT_CODE(check_copy(), NOT_FOUND);
}

int main(void) {
  BM_TEST(accepts_the_fake_library);
  BM_TEST(refuses_what_the_plan_does_not_expect);
  BM_TEST(refuses_what_this_runtime_does_not_offer);
  BM_TEST(refuses_an_image_that_is_too_small);
  BM_TEST(refuses_pointers_out_of_the_image);
  return bm_test_end();
}
