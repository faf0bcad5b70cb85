// A device tree as QEMU passes it, for tests.
#ifndef BOARDS_COMMON_FAKE_DEVICE_TREE_H_
#define BOARDS_COMMON_FAKE_DEVICE_TREE_H_

#include <stdint.h>

// The root has another property; /cpus has the timebase 10000000.
static const uint8_t fake_device_tree[] = {
    0xd0, 0x0d, 0xfe, 0xed, 0,   0,   0,   136, 0,   0,   0,   40,  0,    0,
    0,    108,  //
    0,    0,    0,    40,   0,   0,   0,   17,  0,   0,   0,   16,  0,    0,
    0,    0,                                    //
    0,    0,    0,    26,   0,   0,   0,   68,  //
    0,    0,    0,    1,    0,   0,   0,   0,   // root
    0,    0,    0,    3,    0,   0,   0,   5,   0,   0,   0,   19,  1,    2,
    3,    4,    5,    0,    0,   0,                                // model
    0,    0,    0,    1,    'c', 'p', 'u', 's', 0,   0,   0,   0,  // cpus
    0,    0,    0,    3,    0,   0,   0,   4,   0,   0,   0,   0,   0x00, 0x98,
    0x96, 0x80,                                                    //
    0,    0,    0,    2,    0,   0,   0,   2,   0,   0,   0,   9,  // ends
    't',  'i',  'm',  'e',  'b', 'a', 's', 'e', '-', 'f', 'r', 'e', 'q',  'u',
    'e',  'n',  'c',  'y',  0,   'm', 'o', 'd', 'e', 'l', 0,   0,   0,    0};

#endif  // BOARDS_COMMON_FAKE_DEVICE_TREE_H_
