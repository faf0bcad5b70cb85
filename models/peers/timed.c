// Times every model of an image as an ordinary program on the build machine.
// Prints a line for each: its name and the nanoseconds of its fastest
// inference.
#include <stdio.h>
#include <time.h>

#include "runtime_bm/app/models.h"
#include "runtime_bm/bm.h"

// Inferences of each model.
enum { RUNS = 20 };

static uint64_t now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// Time does not depend on inputs, so they stay what they are: zeros at first.
static bm_status_t fastest(const bm_firmware_model_t *entry, uint64_t *out_ns) {
  static bm_model_t model;
  BM_TRY(bm_firmware_init(entry, &model));
  uint64_t best = UINT64_MAX;
  for (uint32_t i = 0; i < RUNS; ++i) {
    const uint64_t start = now();
    BM_TRY(bm_model_run(&model));
    const uint64_t took = now() - start;
    if (took < best) best = took;
  }
  *out_ns = best;
  return bm_ok();
}

int main(void) {
  for (uint32_t i = 0; i < bm_firmware_model_count; ++i) {
    const bm_firmware_model_t *entry = &bm_firmware_models[i];
    uint64_t ns;
    if (!bm_status_is_ok(fastest(entry, &ns))) return 1;
    printf("%s %llu\n", entry->name, (unsigned long long)ns);
  }
  return 0;
}
