#include "runtime_bm/plan/plan_transfer.h"

#include "runtime_bm/base/memory.h"

#if defined(__riscv)

// Both loops move eight registers at a time, 256 bytes at VLEN 256, in five or
// seven instructions. The registers need not be named as overwritten: C
// compiled without vectors keeps nothing in them.

// NOLINTNEXTLINE(readability-non-const-parameter): the assembly writes to it.
static void fill_vectors(uint8_t *target, size_t length, uint32_t pattern,
                         uint32_t pattern_bytes) {
  uint32_t word = pattern;
  if (pattern_bytes == 1) word = (pattern & 0xFF) * 0x01010101u;
  if (pattern_bytes == 2) word = (pattern & 0xFFFF) * 0x00010001u;
  size_t done;
  // A store begins a multiple of four bytes after the last, so the pattern
  // goes on where it stopped.
  __asm__ volatile(
      ".option push\n"
      ".option arch, +zve32x\n"
      "vsetvli %[done], zero, e32, m8, ta, ma\n"
      "vmv.v.x v0, %[word]\n"
      "1: vsetvli %[done], %[length], e8, m8, ta, ma\n"
      "vse8.v v0, (%[target])\n"
      "add %[target], %[target], %[done]\n"
      "sub %[length], %[length], %[done]\n"
      "bnez %[length], 1b\n"
      ".option pop"
      : [target] "+r"(target), [length] "+r"(length), [done] "=&r"(done)
      : [word] "r"(word)
      : "memory");
}

// NOLINTNEXTLINE(readability-non-const-parameter): the assembly writes to it.
static void copy_vectors(uint8_t *target, const uint8_t *source,
                         size_t length) {
  size_t done;
  __asm__ volatile(
      ".option push\n"
      ".option arch, +zve32x\n"
      "1: vsetvli %[done], %[length], e8, m8, ta, ma\n"
      "vle8.v v0, (%[source])\n"
      "add %[source], %[source], %[done]\n"
      "vse8.v v0, (%[target])\n"
      "add %[target], %[target], %[done]\n"
      "sub %[length], %[length], %[done]\n"
      "bnez %[length], 1b\n"
      ".option pop"
      : [target] "+r"(target), [source] "+r"(source), [length] "+r"(length),
        [done] "=&r"(done)
      :
      : "memory");
}

#endif

// May alias anything: the arena holds elements of every type.
typedef uint16_t __attribute__((may_alias)) half_t;
typedef uint32_t __attribute__((may_alias)) word_t;

static void fill_scalars(void *target, size_t length, uint32_t pattern,
                         uint32_t pattern_bytes) {
  if (pattern_bytes == 1) {
    memset(target, (int)(pattern & 0xFF), length);
  } else if (pattern_bytes == 2) {
    half_t *halves = target;
    for (size_t i = 0; i < length / 2; ++i) halves[i] = (uint16_t)pattern;
  } else {
    word_t *words = target;
    for (size_t i = 0; i < length / 4; ++i) words[i] = pattern;
  }
}

void bm_plan_fill(void *target, size_t length, uint32_t pattern,
                  uint32_t pattern_bytes, bool vectors) {
#if defined(__riscv)
  if (vectors) {
    fill_vectors(target, length, pattern, pattern_bytes);
    return;
  }
#else
  (void)vectors;
#endif
  fill_scalars(target, length, pattern, pattern_bytes);
}

void bm_plan_copy(void *target, const void *source, size_t length,
                  bool vectors) {
#if defined(__riscv)
  if (vectors) {
    copy_vectors(target, source, length);
    return;
  }
#else
  (void)vectors;
#endif
  memcpy(target, source, length);
}
