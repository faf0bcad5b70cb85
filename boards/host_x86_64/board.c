// A process on an x86-64 host: the only place that may use libc.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime_bm/base/isa.h"
#include "runtime_bm/base/result.h"
#include "runtime_bm/base/text.h"
#include "runtime_bm/crt/image.h"
#include "runtime_bm/crt/trap.h"
#include "runtime_bm/hal/hal.h"

const bm_check_t bm_image_checks[] = {{0}};
const uint32_t bm_image_check_count = 0;

// The signals that a broken kernel raises; they are the traps of a process.
static const int kTraps[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};

static void on_signal(int number, siginfo_t *info, void *context) {
  const ucontext_t *state = context;
  bm_text_t text;
  bm_text_clear(&text);
  bm_text_string(&text, "\n");
  bm_trap_record(&text, (uint64_t)number,
                 (uint64_t)state->uc_mcontext.gregs[REG_RIP],
                 (uint64_t)(uintptr_t)info->si_addr);
  bm_hal_console_write(text.bytes, text.size);
  _exit(BM_EXIT_TRAP);
}

// Signals become TRAP records. Their handler has its own stack so that a stack
// overflow is reported too.
void bm_hal_init(void) {
  static uint8_t stack[64 * 1024];
  const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
  struct sigaction action = {.sa_sigaction = on_signal,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaltstack(&alternative, NULL);
  for (size_t i = 0; i < sizeof(kTraps) / sizeof(kTraps[0]); ++i) {
    sigaction(kTraps[i], &action, NULL);
  }
}

bm_hal_cpu_t bm_hal_cpu(void) {
  const bm_hal_cpu_t cpu = {
      .isa = "x86_64", .isa_bits = BM_ISA_X86_64, .vlen_bits = 0};
  return cpu;
}

void bm_hal_console_write(const char *bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(STDOUT_FILENO, bytes, size);
    if (written <= 0) return;  // nobody listens
    bytes += written;
    size -= (size_t)written;
  }
}

uint64_t bm_hal_cycles(void) { return __builtin_ia32_rdtsc(); }

uint64_t bm_hal_instret(void) { return 0; }

void bm_hal_code_written(void *memory, size_t size) {
  if (mprotect(memory, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    perror("mprotect: kernels loaded at run time cannot be made executable");
    exit(BM_EXIT_ERROR);
  }
}

size_t bm_hal_stack_used(void) { return 0; }

void bm_hal_exit(uint32_t status) { exit((int)status); }
