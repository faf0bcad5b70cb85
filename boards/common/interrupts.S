// Where interrupts arrive once an application has installed a handler
// (interrupts.c). crt/start.S says what the scratch register is for, and what
// BM_CRT_SUPERVISOR means.

#ifdef BM_CRT_SUPERVISOR
#define CSR(name) s##name
#define RETURN sret
// scause numbers interrupts two lower than mcause.
#define FIRST_NUMBER 2
#else
#define CSR(name) m##name
#define RETURN mret
#define FIRST_NUMBER 0
#endif

#if __riscv_xlen == 64
#define WORD 8
#define LOAD ld
#define STORE sd
#else
#define WORD 4
#define LOAD lw
#define STORE sw
#endif

// What a C function may change: integers, and floats if C code uses them.
#define INTEGERS 16
#ifdef __riscv_flen
#define FLOATS 20
#define FLOAT_BYTES (__riscv_flen / 8)
#if __riscv_flen == 64
#define FLOAD fld
#define FSTORE fsd
#else
#define FLOAD flw
#define FSTORE fsw
#endif
#else
#define FLOATS 0
#define FLOAT_BYTES 0
#endif
// One more word for fcsr; the stack stays aligned to 16 bytes.
#define FLOATS_AT ((INTEGERS + 1) * WORD + 7 & ~7)
#define FRAME (FLOATS_AT + FLOATS * FLOAT_BYTES + 15 & ~15)

.macro integers instruction
  \instruction ra, 0*WORD(sp)
  \instruction t1, 2*WORD(sp)
  \instruction t2, 3*WORD(sp)
  \instruction t3, 4*WORD(sp)
  \instruction t4, 5*WORD(sp)
  \instruction t5, 6*WORD(sp)
  \instruction t6, 7*WORD(sp)
  \instruction a0, 8*WORD(sp)
  \instruction a1, 9*WORD(sp)
  \instruction a2, 10*WORD(sp)
  \instruction a3, 11*WORD(sp)
  \instruction a4, 12*WORD(sp)
  \instruction a5, 13*WORD(sp)
  \instruction a6, 14*WORD(sp)
  \instruction a7, 15*WORD(sp)
.endm

#ifdef __riscv_flen
.macro floats instruction
  .set at, FLOATS_AT
  .irp register, ft0, ft1, ft2, ft3, ft4, ft5, ft6, ft7, ft8, ft9, ft10, ft11, fa0, fa1, fa2, fa3, fa4, fa5, fa6, fa7
  \instruction \register, at(sp)
  .set at, at + FLOAT_BYTES
  .endr
.endm
#endif

  .section .text.bm_interrupt_entry, "ax", @progbits
// Aligned for harts that keep their vectors in a table.
  .balign 256
  .globl bm_interrupt_entry
  .type bm_interrupt_entry, @function
bm_interrupt_entry:
  csrw CSR(scratch), t0
  csrr t0, CSR(cause)
  bltz t0, 1f
  // An exception, perhaps because the stack is full, so nothing is stored. It
  // ends the program as it would without a handler.
  LOAD t0, bm_interrupt_startup_vector
  csrw CSR(tvec), t0
  la t0, bm_trap_entry
  jr t0
1:
  addi sp, sp, -FRAME
  integers STORE
  csrr t0, CSR(scratch)
  STORE t0, 1*WORD(sp)
  la t0, bm_trap_entry
  csrw CSR(scratch), t0
#ifdef __riscv_flen
  floats FSTORE
  // Kernels change the rounding mode.
  csrrw t0, fcsr, zero
  STORE t0, INTEGERS*WORD(sp)
#endif
  csrr a0, CSR(cause)
  slli a0, a0, 1
  srli a0, a0, 1
  addi a0, a0, FIRST_NUMBER
  LOAD t0, bm_interrupt_handler
  jalr t0
#ifdef __riscv_flen
  LOAD t0, INTEGERS*WORD(sp)
  csrw fcsr, t0
  floats FLOAD
#endif
  integers LOAD
  LOAD t0, 1*WORD(sp)
  addi sp, sp, FRAME
  RETURN
  .size bm_interrupt_entry, . - bm_interrupt_entry
