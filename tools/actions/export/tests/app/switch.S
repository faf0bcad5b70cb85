// Switches between tasks at a timer interrupt: saves every register that a
// kernel uses, vectors of VLEN 256 included, on the stack of the task.
  .option arch, +v

#define PLACE_F 256
#define PLACE_CSR 512
#define PLACE_V 576
#define FRAME (PLACE_V + 32 * 32)

  .text
  .balign 4
  .globl switch_task
switch_task:
  addi sp, sp, -FRAME
  .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
  sd x\n, 8 * \n(sp)
  .endr
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
  fsd f\n, PLACE_F + 8 * \n(sp)
  .endr
  csrr t0, mepc
  sd t0, PLACE_CSR + 0(sp)
  csrr t0, mstatus
  sd t0, PLACE_CSR + 8(sp)
  csrr t0, fcsr
  sd t0, PLACE_CSR + 16(sp)
  csrr t0, vl
  sd t0, PLACE_CSR + 24(sp)
  csrr t0, vtype
  sd t0, PLACE_CSR + 32(sp)
  csrr t0, vstart
  sd t0, PLACE_CSR + 40(sp)
  csrr t0, vcsr
  sd t0, PLACE_CSR + 48(sp)
  // A store of whole registers begins at vstart too.
  csrw vstart, zero
  addi t0, sp, PLACE_V
  .irp n, 0, 8, 16, 24
  vs8r.v v\n, (t0)
  addi t0, t0, 256
  .endr

  mv a0, sp
  call next_task
  mv sp, a0

  // The test's negative control.
#ifndef FORGET_VECTORS
  addi t0, sp, PLACE_V
  .irp n, 0, 8, 16, 24
  vl8re8.v v\n, (t0)
  addi t0, t0, 256
  .endr
#endif
  ld t0, PLACE_CSR + 24(sp)
  ld t1, PLACE_CSR + 32(sp)
  vsetvl zero, t0, t1
  ld t0, PLACE_CSR + 40(sp)
  csrw vstart, t0
  ld t0, PLACE_CSR + 48(sp)
  csrw vcsr, t0
  ld t0, PLACE_CSR + 16(sp)
  csrw fcsr, t0
  ld t0, PLACE_CSR + 0(sp)
  csrw mepc, t0
  ld t0, PLACE_CSR + 8(sp)
  csrw mstatus, t0
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
  fld f\n, PLACE_F + 8 * \n(sp)
  .endr
  .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
  ld x\n, 8 * \n(sp)
  .endr
  addi sp, sp, FRAME
  mret
