// Reset to main(): one hart of 32 or 64 bits, in machine mode. When built with
// BM_CRT_SUPERVISOR it starts in supervisor mode, for boards whose own firmware
// occupies machine mode. In an image for several harts (BM_SEVERAL_HARTS) the
// others start once the first one calls them (boards/common), and go to
// bm_harts_enter(). tp is the number of each, from 0.
//
// The linker script (link/sections.ld.S) defines every bm_* symbol that is not
// a function here.

// The same registers have a different name in each mode.
#ifdef BM_CRT_SUPERVISOR
#define CSR(name) s##name
#else
#define CSR(name) m##name
#endif

// Memory is copied and painted in words.
#if __riscv_xlen == 64
#define WORD 8
#define LOAD ld
#define STORE sd
#else
#define WORD 4
#define LOAD lw
#define STORE sw
#endif

#ifdef BM_SEVERAL_HARTS
// Bytes from the stack of hart 0 to this hart's.
.macro stack_offset register
  lw \register, bm_stack_stride
  mul \register, \register, tp
.endm
#endif

  .section .text.bm_start, "ax", @progbits
  .globl _start
  .type _start, @function
_start:
  mv s1, a1             // from the boot path, kept while memory is cleared
  la t0, bm_trap_vector
  csrw CSR(tvec), t0
  // Some harts have no such register.
  la t0, no_interrupts
  csrw CSR(scratch), t0
  csrw CSR(ie), zero
  .balign 4
no_interrupts:
#ifdef BM_CRT_SUPERVISOR
  // Whoever loaded the image started one hart, without paging, and wrote the
  // code as data.
  csrw satp, zero
  sfence.vma
  fence.i
#ifdef BM_SEVERAL_HARTS
  li tp, 0
#endif
#else
  csrr t0, mhartid
  lui t1, %hi(bm_boot_hart)
  addi t1, t1, %lo(bm_boot_hart)
#ifdef BM_SEVERAL_HARTS
  sub tp, t0, t1
  bnez tp, other_hart
#else
  bne t0, t1, park
#endif
#endif

  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, bm_stack_top

  // FS = VS = initial. VS stays zero on a hart without vectors.
  li t0, 0x2200
  csrs CSR(status), t0
  // fcsr by number, since the runtime may be built without F. Traps if there is
  // none.
  la t0, no_floats
  csrw CSR(scratch), t0
  csrw 0x003, zero
  .balign 4
no_floats:
  la t0, bm_trap_entry
  csrw CSR(scratch), t0

  // Copy initialized data if it is stored elsewhere than it runs.
  la a0, bm_data_start
  la a1, bm_data_load
  la a2, bm_data_end
  beq a0, a1, 2f
1:
  bgeu a0, a2, 2f
  LOAD t0, 0(a1)
  STORE t0, 0(a0)
  addi a0, a0, WORD
  addi a1, a1, WORD
  j 1b
2:
  la a0, bm_bss_start
  la a1, bm_bss_end
  li a2, 0
  call paint

  // Stacks and the guards below them, for the high-water mark.
  la a0, bm_stack_guard
  la a1, bm_stacks_end
  LOAD a2, bm_stack_paint
  call paint
  call guard_stack
  la t0, bm_stack_guard_is_enforced
  sw a0, 0(t0)

  la t0, bm_boot_argument
  STORE s1, 0(t0)

  call main
  call bm_crt_exit

// Stores the word a2 over [a0, a1).
paint:
  bgeu a0, a1, 1f
  STORE a2, 0(a0)
  addi a0, a0, WORD
  j paint
1:
  ret

// Makes the processor fault on any access to the guard below the stack. It
// takes one locked PMP entry without permissions: locked entries bind machine
// mode too. Returns 1 in a0, or 0 on a hart without PMP, where these registers
// trap or read as zero.
guard_stack:
#ifdef BM_CRT_SUPERVISOR
  li a0, 0              // only machine mode can protect memory
  ret
#else
  la t0, no_pmp
  csrw CSR(scratch), t0
  la t0, bm_stack_guard
  la t1, bm_stack_bottom
  sub t1, t1, t0        // a power of two; the guard is aligned to it
#ifdef BM_SEVERAL_HARTS
  stack_offset t2
  add t0, t0, t2
#endif
  srli t0, t0, 2
  srli t1, t1, 3
  addi t1, t1, -1
  or t0, t0, t1
  csrw pmpaddr0, t0
  li t1, 0x98           // locked, naturally aligned range, no access
  csrw pmpcfg0, t1
  csrr a0, pmpcfg0
  andi a0, a0, 0xFF
  bne a0, t1, no_pmp
  li a0, 1
  j 1f
  .balign 4
no_pmp:
  li a0, 0
1:
  la t0, bm_trap_entry
  csrw CSR(scratch), t0
  ret

park:
  wfi
  j park
#endif

#ifdef BM_SEVERAL_HARTS
#ifdef BM_CRT_SUPERVISOR
// Where the firmware in machine mode sends a hart that it starts, with its
// number in a1, without paging and interrupts.
  .globl bm_hart_start
  .type bm_hart_start, @function
bm_hart_start:
  mv tp, a1
  la t0, bm_trap_vector
  csrw CSR(tvec), t0
  fence.i
#else
// Waits for its software interrupt: memory may say anything before the first
// hart has cleared it. The interrupt stays pending, so the hart does not sleep
// when it does so for the first time.
other_hart:
  lw t0, bm_hart_count
  bgeu tp, t0, park
  li t0, 8              // mie.MSIE, mip.MSIP
  csrw mie, t0
1:
  wfi
  csrr t1, mip
  and t1, t1, t0
  beqz t1, 1b
  fence
#endif
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, bm_stack_top
  stack_offset t0
  add sp, sp, t0
  li t0, 0x2200
  csrs CSR(status), t0
  la t0, no_floats_there
  csrw CSR(scratch), t0
  csrw 0x003, zero
  .balign 4
no_floats_there:
  la t0, bm_trap_entry
  csrw CSR(scratch), t0
  call guard_stack
  mv a0, tp
  call bm_harts_enter
#endif

  .size _start, . - _start

  .section .text.bm_trap_entry, "ax", @progbits
// Every trap comes here first and continues at the address in the scratch
// register. Aligned for harts that keep their vectors in a table, which begins
// with the exception vector.
  .balign 256
  .globl bm_trap_vector
  .type bm_trap_vector, @function
bm_trap_vector:
  csrr t0, CSR(scratch)
  jr t0

  .balign 4
  .globl bm_trap_entry
  .type bm_trap_entry, @function
// Every exception ends the program, so nothing is saved. The handler has its
// own stack, because the usual one may be what is broken.
bm_trap_entry:
#ifdef BM_SEVERAL_HARTS
  // The first hart to trap reports it, on the one stack there is for that.
  la t0, trapped
  li t1, 1
  amoswap.w.aq t1, t1, (t0)
  bnez t1, dead
#endif
  la t0, trap_in_trap
  csrw CSR(scratch), t0
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, trap_stack_top
  csrr a0, CSR(cause)
  csrr a1, CSR(epc)
  csrr a2, CSR(tval)
  call bm_trap

  .balign 4
// The handler itself trapped: leave without printing.
trap_in_trap:
  la t0, dead
  csrw CSR(scratch), t0
  la sp, trap_stack_top
  li a0, 3              // BM_EXIT_TRAP
  call bm_hal_exit

  .balign 4
// Leaving trapped too: nothing works anymore.
dead:
  wfi
  j dead
  .size bm_trap_entry, . - bm_trap_entry

#ifdef BM_SEVERAL_HARTS
  .section .bss.bm_trapped, "aw", @nobits
  .balign 4
trapped:
  .skip 4
#endif

  .section .bss.bm_trap_stack, "aw", @nobits
  .balign 16
  .skip 1024
trap_stack_top:

  .section .rodata.bm_stack_paint, "a", @progbits
  .balign 8
  .globl bm_stack_paint
  .type bm_stack_paint, @object
bm_stack_paint:
  .quad 0x5afe57ac5afe57ac
  .size bm_stack_paint, WORD
