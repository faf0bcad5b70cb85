#include "runtime_bm/crt/image.h"

// Defined by the linker script.
extern const uint8_t bm_text_start[];
extern const uint8_t bm_text_end[];
extern const uint8_t bm_rodata_start[];
extern const uint8_t bm_rodata_end[];
extern const uint8_t bm_data_load[];
extern const uint8_t bm_data_load_end[];

const bm_check_t bm_image_checks[] BM_CHECKS = {
    [BM_IMAGE_CODE] = {.start = bm_text_start, .end = bm_text_end},
    [BM_IMAGE_CONSTANTS] = {.start = bm_rodata_start, .end = bm_rodata_end},
    [BM_IMAGE_DATA] = {.start = bm_data_load, .end = bm_data_load_end},
};
const uint32_t bm_image_check_count =
    sizeof(bm_image_checks) / sizeof(bm_image_checks[0]);
