/* Section layout of every bare-metal image. It goes through the C preprocessor
 * with the board's folder on the include path. memory.ldh provides:
 *
 *   MEMORY { ... }                     the board's memory
 *   REGION_ALIAS("BM_ROM", ...)        code, constants, weights, data's image
 *   REGION_ALIAS("BM_RAM", ...)        everything that is written
 *   #define BM_RESET_REGION            memory of section .bm.reset, for a processor
 *                                      whose first instruction is elsewhere than
 *                                      at the origin of BM_ROM; optional
 *   #define BM_WEIGHTS_REGION          memory of the weights, default BM_ROM
 *   #define BM_ARENA_REGION            memory of the arena, default BM_RAM
 *   #define BM_FAST_REGION             memory of what models keep in fast memory,
 *                                      default BM_RAM
 *   #define BM_STACK_BYTES             stack, for the largest VLEN of the board
 *   #define BM_STACK_GUARD_BYTES       guard below it, a power of two >= 64
 *   #define BM_BOOT_HART               hart that runs, default 0; the others wait
 *   #define BM_TIMEBASE_HZ             ticks of mtime per second; optional
 *   #define BM_BOOT_DEVICE_TREE 1      a1 points to a device tree; optional
 *   #define BM_CLINT                   registers of the CLINT; for several harts
 *                                      in machine mode, which are those from
 *                                      BM_BOOT_HART on
 *   #define BM_FIRST_HART              first of several harts in supervisor mode,
 *                                      default 0
 *
 * The build defines BM_HARTS, the harts of the image. Each has a stack.
 *
 * Each part defines bm_<part>_start and bm_<part>_end for size reports.
 */
#include "memory.ldh"

#ifndef BM_WEIGHTS_REGION
#define BM_WEIGHTS_REGION BM_ROM
#endif
#ifndef BM_ARENA_REGION
#define BM_ARENA_REGION BM_RAM
#endif
#ifndef BM_FAST_REGION
#define BM_FAST_REGION BM_RAM
#endif
#ifndef BM_BOOT_HART
#define BM_BOOT_HART 0
#endif
bm_boot_hart = BM_BOOT_HART;
#ifndef BM_TIMEBASE_HZ
#define BM_TIMEBASE_HZ 0
#endif
#ifndef BM_BOOT_DEVICE_TREE
#define BM_BOOT_DEVICE_TREE 0
#endif
#ifndef BM_CLINT
#define BM_CLINT 0
#endif
#ifndef BM_FIRST_HART
#define BM_FIRST_HART 0
#endif

OUTPUT_ARCH("riscv")
ENTRY(_start)

SECTIONS {
#ifdef BM_RESET_REGION
  .bm.reset : {
    KEEP(*(.bm.reset))
  } > BM_RESET_REGION
#endif

  .text : ALIGN(4) {
    bm_text_start = .;
    KEEP(*(.text.bm_start))
    *(.text .text.*)
    . = ALIGN(4);
    bm_text_end = .;
  } > BM_ROM

  /* Prelinked kernels run in place; their image keeps its 4 KiB pages. The start is absolute: of two
     symbols of the section at one place, disassemblers would take the one that does not say "data". */
  .bm.kernels : ALIGN(4096) {
    bm_kernels_start = ABSOLUTE(.);
    *(.bm.kernels .bm.kernels.*)
    bm_kernels_end = .;
  } > BM_ROM

  .rodata : ALIGN(64) {
    bm_rodata_start = .;
    bm_board_facts = .;
    LONG(BM_TIMEBASE_HZ)
    LONG(BM_BOOT_DEVICE_TREE)
#if BM_HARTS > 1
    bm_hart_count = .;
    LONG(BM_HARTS)
    bm_stack_stride = .;
    LONG(bm_stack_second - bm_stack_guard)
    bm_board_harts = .;
    LONG(BM_CLINT)
    LONG(BM_BOOT_HART)
    LONG(BM_FIRST_HART)
#endif
    *(.rodata .rodata.* .srodata .srodata.*)
    . = ALIGN(4);
    bm_rodata_end = .;
  } > BM_ROM

  /* Filled in after linking (tools/actions/seal), so no check covers it. */
  .bm.checks : ALIGN(8) {
    *(.bm.checks)
  } > BM_ROM

  /* Read in place, at the alignment the kernels were compiled for. */
  .bm.weights : ALIGN(64) {
    bm_weights_start = .;
    *(.bm.weights .bm.weights.*)
    bm_weights_end = .;
  } > BM_WEIGHTS_REGION

  .bm.golden : ALIGN(64) {
    bm_golden_start = .;
    *(.bm.golden .bm.golden.*)
    bm_golden_end = .;
  } > BM_ROM

  .data : ALIGN(8) {
    bm_data_start = .;
    *(.data .data.*)
    __global_pointer$ = . + 0x800;
    *(.sdata .sdata.*)
    . = ALIGN(8);
    bm_data_end = .;
  } > BM_RAM AT > BM_ROM
  bm_data_load = LOADADDR(.data);
  bm_data_load_end = LOADADDR(.data) + SIZEOF(.data);

  /* Not cleared at startup: a model writes before it reads. */
  .bm.arena (NOLOAD) : ALIGN(64) {
    bm_arena_start = .;
    *(.bss.bm_arena .bss.bm_code)
    bm_arena_end = .;
  } > BM_ARENA_REGION

  /* Likewise. */
  .bm.fast (NOLOAD) : ALIGN(64) {
    bm_fast_start = .;
    *(.bss.bm_fast)
    bm_fast_end = .;
  } > BM_FAST_REGION

  .bss (NOLOAD) : ALIGN(8) {
    bm_bss_start = .;
    *(.sbss .sbss.* .bss .bss.* COMMON)
    . = ALIGN(8);
    bm_bss_end = .;
  } > BM_RAM

  .bm.stack (NOLOAD) : ALIGN(BM_STACK_GUARD_BYTES) {
    bm_stack_guard = .;
    . += BM_STACK_GUARD_BYTES;
    bm_stack_bottom = .;
    . += BM_STACK_BYTES;
    bm_stack_top = .;
#if BM_HARTS > 1
    /* The same for each other hart. */
    . = ALIGN(BM_STACK_GUARD_BYTES);
    bm_stack_second = .;
    . += (BM_HARTS - 1) * (bm_stack_second - bm_stack_guard);
#endif
    bm_stacks_end = .;
  } > BM_RAM

  /DISCARD/ : {
    *(.eh_frame .eh_frame_hdr .note.GNU-stack)
  }
}

ASSERT((BM_STACK_GUARD_BYTES & (BM_STACK_GUARD_BYTES - 1)) == 0 &&
       BM_STACK_GUARD_BYTES >= 64,
       "BM_STACK_GUARD_BYTES must be a power of two of at least 64")
ASSERT(BM_HARTS <= 16, "an image is for at most 16 harts: BM_MAX_HARTS of runtime_bm/harts/harts.h")
ASSERT(BM_STACK_BYTES % 16 == 0, "BM_STACK_BYTES must be a multiple of 16")
ASSERT(bm_text_start == ORIGIN(BM_ROM),
       "code must start where the processor does: at the origin of BM_ROM")
ASSERT(bm_weights_start % 64 == 0, "weights must be 64-byte aligned")
ASSERT(bm_kernels_start % 4096 == 0, "kernels must be 4096-byte aligned")
