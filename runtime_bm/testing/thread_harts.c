// Harts as threads of a process, for tests of what several harts do together.
// Runs main once for each number of harts that is tested. Sleeping and waking
// order no memory access, so that a thread sanitizer sees what the code under
// test does about that, and take random time.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime_bm/base/isa.h"
#include "runtime_bm/crt/image.h"
#include "runtime_bm/hal/hal.h"
#include "runtime_bm/hal/harts.h"
#include "runtime_bm/harts/harts.h"
#include "runtime_bm/testing/thread_harts.h"

// A hart that is not woken sleeps forever; then the process ends by a signal.
enum { DEADLINE_SECONDS = 100 };

static const uint32_t kCounts[] = {1, 2, 3, 4, 8};

extern uint32_t mutable_hart_count __asm__("bm_hart_count");
uint32_t mutable_hart_count = 1;

uint32_t thread_harts_absent = UINT32_MAX;
const bm_hal_cpu_t *thread_harts_cpus;

const bm_check_t bm_image_checks[] = {{0}};
const uint32_t bm_image_check_count = 0;

static _Thread_local uint32_t number;
static _Thread_local uint32_t random_state = 1;
static atomic_uint woken;

__attribute__((constructor)) static void for_each_count(void) {
  for (size_t i = 0; i < sizeof(kCounts) / sizeof(kCounts[0]); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      mutable_hart_count = kCounts[i];
      alarm(DEADLINE_SECONDS);
      return;
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      fprintf(stderr, "with %u harts: wait status %#x\n", kCounts[i], status);
      _exit(EXIT_FAILURE);
    }
  }
  _exit(EXIT_SUCCESS);
}

uint32_t thread_harts_random(uint32_t limit) {
  random_state = random_state * 1103515245 + 12345 + number;
  return (random_state >> 8) % limit;
}

void thread_harts_dawdle(void) {
  const struct timespec time = {.tv_nsec = thread_harts_random(50000)};
  if (thread_harts_random(4) == 0) nanosleep(&time, NULL);
}

static void *enter(void *hart) {
  number = (uint32_t)(uintptr_t)hart;
  thread_harts_dawdle();
  bm_harts_enter(number);
  return NULL;
}

uint32_t bm_hal_hart(void) { return number; }

void bm_hal_hart_start(uint32_t hart) {
  pthread_t thread;
  if (hart == thread_harts_absent) return;
  if (pthread_create(&thread, NULL, enter, (void *)(uintptr_t)hart) != 0) {
    perror("pthread_create");
    exit(EXIT_FAILURE);
  }
}

void bm_hal_harts_wake(uint32_t harts) {
  // Not for a hart that lets others go on.
  if (harts != (uint32_t)1 << number) thread_harts_dawdle();
  atomic_fetch_or_explicit(&woken, harts, memory_order_relaxed);
}

void bm_hal_hart_sleep(void) {
  const uint32_t me = (uint32_t)1 << number;
  const struct timespec time = {.tv_nsec = 10000};
  while ((atomic_fetch_and_explicit(&woken, ~me, memory_order_relaxed) & me) ==
         0) {
    nanosleep(&time, NULL);
  }
}

void bm_hal_init(void) {}

bm_hal_cpu_t bm_hal_cpu(void) {
  static const bm_hal_cpu_t kCpu = {.isa = "x86_64", .isa_bits = BM_ISA_X86_64};
  return thread_harts_cpus != NULL ? thread_harts_cpus[number] : kCpu;
}

void bm_hal_console_write(const char *bytes, size_t size) {
  if (write(STDOUT_FILENO, bytes, size) < 0) _exit(EXIT_FAILURE);
}

uint64_t bm_hal_cycles(void) { return 0; }

uint64_t bm_hal_instret(void) { return 0; }

void bm_hal_code_written(void *memory, size_t size) {
  // Each hart does it once; what is there counts them.
  atomic_fetch_add_explicit((atomic_uint *)memory, (uint32_t)size,
                            memory_order_relaxed);
}

size_t bm_hal_stack_used(void) { return 0; }

void bm_hal_exit(uint32_t status) { exit((int)status); }
