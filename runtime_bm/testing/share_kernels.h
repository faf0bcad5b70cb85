// Kernels that show which hart runs what, and in which order.
#ifndef RUNTIME_BM_TESTING_SHARE_KERNELS_H_
#define RUNTIME_BM_TESTING_SHARE_KERNELS_H_

#include <stdint.h>

// What a kernel saw of its workgroup.
typedef struct share_seen_t {
  uint32_t runs;
  uint32_t hart;
  uint32_t max_concurrency;
  uint32_t id[3];
  uint32_t count[3];
} share_seen_t;

// Writes a share_seen_t per workgroup to binding 0. Not atomic: if another hart
// ran it too, a thread sanitizer would say so, and else the number of runs.
extern const void *const share_where;

// Binding 1 [x] = the sum of all words of binding 0, plus x: needs everything
// before it. As many words as workgroups.
extern const void *const share_spread;

// Fails in the workgroup that constant 0 names.
extern const void *const share_fail;

#endif  // RUNTIME_BM_TESTING_SHARE_KERNELS_H_
