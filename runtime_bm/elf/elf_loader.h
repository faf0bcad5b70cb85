// Loads an embedded ELF executable from the compiler: a position-independent
// file without imports, placed into memory that the caller provides.
//
// The file is not trusted. The loader checks every offset, size and address
// before using it; a malformed file gives a status, never a wild access. It
// cannot check what the code does once it is called.
#ifndef RUNTIME_BM_ELF_ELF_LOADER_H_
#define RUNTIME_BM_ELF_ELF_LOADER_H_

#include <stdint.h>

#include "runtime_bm/base/span.h"
#include "runtime_bm/base/status.h"
#include "runtime_bm/elf/elf_machine.h"

BM_EXTERN_C_BEGIN

// Alignment of the memory an image is loaded into, and the largest alignment a
// segment may ask for.
enum { BM_ELF_PAGE_BYTES = 4096 };

// Checks the headers of `file` and returns how many bytes it takes in memory.
// Errors: DATA_LOSS for a malformed file, UNIMPLEMENTED for a well-formed one
// that this loader does not support (another machine or ABI, an interpreter,
// TLS).
BM_MUST_USE bm_status_t bm_elf_measure(bm_cspan_t file,
                                       const bm_elf_machine_t *machine,
                                       uint64_t *out_bytes);

// Places and relocates `file` in `memory` and finds the function `symbol`.
// `out_image` is the part of `memory` in use. The caller makes the code visible
// to instruction fetch (bm_hal_code_written) before calling the function.
// Errors: those of bm_elf_measure, INVALID_ARGUMENT when memory is not aligned
// to BM_ELF_PAGE_BYTES, RESOURCE_EXHAUSTED when it is too small, NOT_FOUND
// when there is no such function. `memory` is unspecified after an error.
BM_MUST_USE bm_status_t bm_elf_load(bm_cspan_t file,
                                    const bm_elf_machine_t *machine,
                                    bm_span_t memory, const char *symbol,
                                    bm_span_t *out_image, void **out_function);

BM_EXTERN_C_END

#endif  // RUNTIME_BM_ELF_ELF_LOADER_H_
