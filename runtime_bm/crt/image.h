// The parts of an image that belong to no model, and the checks over them.
#ifndef RUNTIME_BM_CRT_IMAGE_H_
#define RUNTIME_BM_CRT_IMAGE_H_

#include <stdint.h>

#include "runtime_bm/base/check.h"

BM_EXTERN_C_BEGIN

typedef enum bm_image_part_t {
  BM_IMAGE_CODE = 0,
  BM_IMAGE_CONSTANTS = 1,
  // Initial values of variables, where the image has them. On a board without
  // flash that is where the variables are: verify before one of them changes.
  BM_IMAGE_DATA = 2,
} bm_image_part_t;

// One row per bm_image_part_t. A host program, which the operating system
// loads, has none.
extern const bm_check_t bm_image_checks[];
extern const uint32_t bm_image_check_count;

BM_EXTERN_C_END

#endif  // RUNTIME_BM_CRT_IMAGE_H_
