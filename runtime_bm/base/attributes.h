// Compiler attributes and checks shared by every runtime header. Readable by
// C11 and by C++ (bm.h is a public header for both).
#ifndef RUNTIME_BM_BASE_ATTRIBUTES_H_
#define RUNTIME_BM_BASE_ATTRIBUTES_H_

#ifdef __cplusplus
#define BM_STATIC_ASSERT(condition, message) static_assert(condition, message)
#define BM_EXTERN_C_BEGIN extern "C" {
#define BM_EXTERN_C_END }
#define BM_NORETURN [[noreturn]]
#else
#define BM_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#define BM_EXTERN_C_BEGIN
#define BM_EXTERN_C_END
#define BM_NORETURN _Noreturn
#endif

// Asserts the size of `type` with 64-bit and with 32-bit pointers. The 32-bit
// size is also a constant, so that 64-bit code can use it.
#define BM_ABI_SIZE(type, bytes_64, bytes_32)                               \
  enum { type##_bytes_32 = (bytes_32) };                                    \
  BM_STATIC_ASSERT((sizeof(void *) == 8 && sizeof(type) == (bytes_64)) ||   \
                       (sizeof(void *) == 4 && sizeof(type) == (bytes_32)), \
                   "ABI")

// The result carries an error: dropping it is a compile error under -Werror.
#define BM_MUST_USE __attribute__((warn_unused_result))

#define BM_NOINLINE __attribute__((noinline))

// For what must not become a call where code is compiled for size.
#define BM_INLINE static inline __attribute__((always_inline))

// Defines the symbol `name` where debuggers can stop. Adds no instruction.
#define BM_DEBUG_PLACE(name) __asm__ volatile(#name ":")

#endif  // RUNTIME_BM_BASE_ATTRIBUTES_H_
