// What happens to caches around a list of jobs. On a machine whose DMA sees
// what harts have written, as Spike's, only the order of accesses matters. One
// whose DMA reads and writes behind the caches also writes back the operands'
// lines in the first function, and forgets the results' lines in the second.
#ifndef KERNELS_MATRIX_UNIT_COHERENCE_H_
#define KERNELS_MATRIX_UNIT_COHERENCE_H_

// Called before each list is submitted: all that harts wrote is in memory.
static inline void matrix_unit_to_device(void) {
  __asm__ volatile("fence rw, o" ::: "memory");
}

// Called when all lists have ended: harts read what the unit wrote.
static inline void matrix_unit_from_device(void) {
  __asm__ volatile("fence i, rw" ::: "memory");
}

#endif  // KERNELS_MATRIX_UNIT_COHERENCE_H_
