// The stack of a target: painted at startup, with a guard below it.
#ifndef RUNTIME_BM_CRT_STACK_H_
#define RUNTIME_BM_CRT_STACK_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime_bm/base/attributes.h"

BM_EXTERN_C_BEGIN

// The most bytes of stack in use at any time since reset, on any hart. More
// than the size of the stack if the guard was overrun on a hart that cannot
// enforce it.
size_t bm_crt_stack_used(void);

// True when `address` is in the guard of a hart.
bool bm_crt_is_stack_guard(uintptr_t address);

// True when `address` is in the memory that startup fills and clears.
bool bm_crt_is_memory(uintptr_t address);

// Register a1 as the boot path left it: a device tree, if there is one.
extern const void *bm_boot_argument;

// What the board's memory.ldh says about the machine (link/sections.ld.S).
typedef struct bm_board_facts_t {
  uint32_t timebase_hz;             // BM_TIMEBASE_HZ; 0: not stated
  uint32_t boots_with_device_tree;  // BM_BOOT_DEVICE_TREE
} bm_board_facts_t;
extern const bm_board_facts_t bm_board_facts;

// What it says about harts; only in an image for several of them.
typedef struct bm_board_harts_t {
  uint32_t clint;       // BM_CLINT
  uint32_t boot_hart;   // BM_BOOT_HART
  uint32_t first_hart;  // BM_FIRST_HART
} bm_board_harts_t;
extern const bm_board_harts_t bm_board_harts;

BM_EXTERN_C_END

#endif  // RUNTIME_BM_CRT_STACK_H_
