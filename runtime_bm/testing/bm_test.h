// Tests that run on a host and, unchanged, on a board: no libc, output on the
// board's console, verdict in the console protocol.
//
//   static void adds(void) { BM_EXPECT_EQ(1 + 1, 2); }
//   int main(void) {
//     BM_TEST(adds);
//     return bm_test_end();
//   }
#ifndef RUNTIME_BM_TESTING_BM_TEST_H_
#define RUNTIME_BM_TESTING_BM_TEST_H_

#include <stdbool.h>
#include <stdint.h>

#include "runtime_bm/base/status.h"

// Runs the function `name` as one test.
#define BM_TEST(name)     \
  do {                    \
    bm_test_begin(#name); \
    name();               \
  } while (0)

// Continues after a failure so that a run shows all of them.
#define BM_EXPECT(condition) \
  bm_test_expect((condition), __FILE__, __LINE__, #condition)
#define BM_EXPECT_EQ(got, want)                                            \
  bm_test_expect_eq((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, \
                    #got " == " #want)
#define BM_EXPECT_OK(status) \
  bm_test_expect_code((status), BM_CODE_OK, __FILE__, __LINE__, #status)
#define BM_EXPECT_CODE(status, code)                                \
  bm_test_expect_code((status), BM_CODE_##code, __FILE__, __LINE__, \
                      #status " -> " #code)

void bm_test_begin(const char *name);

// Each returns whether the expectation held.
bool bm_test_expect(bool condition, const char *file, uint32_t line,
                    const char *text);
bool bm_test_expect_eq(uint64_t got, uint64_t want, const char *file,
                       uint32_t line, const char *text);
bool bm_test_expect_code(bm_status_t status, bm_code_t want, const char *file,
                         uint32_t line, const char *text);

// Prints the verdict and returns the exit status for main.
int bm_test_end(void);

#endif  // RUNTIME_BM_TESTING_BM_TEST_H_
