// Reads the machine's properties from the flattened device tree of a boot path
// that supplies one (Devicetree Specification 0.4, chapter 5).
#ifndef BOARDS_COMMON_DEVICE_TREE_H_
#define BOARDS_COMMON_DEVICE_TREE_H_

#include <stdint.h>

// The machine's timer ticks per second: the property timebase-frequency of
// /cpus or of a cpu. 0 when `tree` is not a device tree, is damaged or does not
// have the property.
uint32_t bm_device_tree_timebase(const void *tree);

#endif  // BOARDS_COMMON_DEVICE_TREE_H_
