// What a device may do at worst: nothing is done before somebody waits for it,
// and then the last job first. So a command that does not wait reads what was
// there before. Its faults:
//   LATE_FORGETS: the first wait does nothing, as if the plan did not have it.
//   LATE_FAILS: a wait reports an error.
//   LATE_REFUSES: no job is taken, and the wait after it says why.

#include "kernels/tests/late.h"

#include <stdbool.h>

#define BM_FILE BM_FILE_APPLICATION

typedef struct job_t {
  const late_i8_params_t *params;
  const int8_t *image, *weights;
  product_numbers_t numbers;
  int8_t *result;
} job_t;

enum { MOST_JOBS = 4 };
static job_t jobs[MOST_JOBS];
static int count;
static bool is_refused;

static void do_all(void) {
  while (count != 0) {
    const job_t *const job = &jobs[--count];
    product_run(job->params, job->image, job->weights, &job->numbers,
                job->result);
  }
}

int late_i8(const late_i8_params_t *params, const int8_t *image,
            const int8_t *weights, const int32_t *biases,
            const int32_t *multipliers, const int32_t *shifts, int8_t *result) {
#ifdef LATE_REFUSES
  is_refused = true;
  return 1;
#endif
  if (count == MOST_JOBS) do_all();
  jobs[count++] =
      (job_t){params, image, weights, {biases, multipliers, shifts}, result};
  return 0;
}

bm_status_t late_wait(void) {
  BM_CHECK(!is_refused, TIMED_OUT);
#ifdef LATE_FAILS
  return BM_ERROR(DEVICE_FAILED);
#endif
#ifdef LATE_FORGETS
  static bool forgot;
  if (!forgot) {
    forgot = true;
    return bm_ok();
  }
#endif
  do_all();
  return bm_ok();
}
