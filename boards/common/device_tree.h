// What a boot path that brings a flattened device tree says of its machine
// (Devicetree Specification 0.4, chapter 5).
#ifndef BOARDS_COMMON_DEVICE_TREE_H_
#define BOARDS_COMMON_DEVICE_TREE_H_

#include <stdint.h>

// Ticks of the machine's timer in a second: the property timebase-frequency
// of /cpus or of a cpu. 0 when `tree` is not a device tree, is damaged or
// does not say.
uint32_t bm_device_tree_timebase(const void *tree);

#endif  // BOARDS_COMMON_DEVICE_TREE_H_
