// Two tasks, each with a model and an arena of its own. A timer interrupts them
// in the middle of kernels. Each must give the bits that it gives alone.
#include "board.h"
#include "denoiser.h"
#include "images.h"
#include "mlp.h"
#include "runtime_bm/base/memory.h"

enum {
  ROUNDS = 50,
  STACK_BYTES = 64 * 1024,
  // switch.S.
  FRAME_WORDS = (576 + 32 * 32) / 8,
  FRAME_MEPC = 64,
  FRAME_MSTATUS = 65,
  // In QEMU 900 instructions, half of an inference of the smaller model.
  TICKS = 9,
  // Machine mode, interrupts on after mret, floats and vectors on.
  MSTATUS = 0x7E80,
};

typedef struct task_t {
  bm_model_t model;
  float *input;
  const float *output;
  unsigned output_bytes;
  float alone[IMAGES][64];
  volatile unsigned disturbed;
  volatile unsigned is_done;
} task_t;

static mlp_arena_t mlp_arena;
static denoiser_arena_t denoiser_arena;
static task_t tasks[2];
static _Alignas(16) uint64_t stacks[2][STACK_BYTES / 8];

// The first context is main's.
static uint64_t *contexts[3];
static unsigned current;
static volatile unsigned switches;

void switch_task(void);

static void start_timer(void) {
  volatile uint64_t *const mtimecmp = (volatile uint64_t *)0x2004000;
  volatile uint64_t *const mtime = (volatile uint64_t *)0x200BFF8;
  *mtimecmp = *mtime + TICKS;
}

// Called by switch.S.
uint64_t *next_task(uint64_t *context);
uint64_t *next_task(uint64_t *context) {
  contexts[current] = context;
  current = (current + 1) % 3;
  ++switches;
  start_timer();
  return contexts[current];
}

static void run(task_t *task, unsigned image) {
  memcpy(task->input, images[image], sizeof(images[image]));
  if (bm_model_run(&task->model).bits != 0) ++task->disturbed;
}

static void work(task_t *task) {
  for (unsigned i = 0; i < ROUNDS * IMAGES; ++i) {
    run(task, i % IMAGES);
    if (memcmp(task->output, task->alone[i % IMAGES], task->output_bytes)) {
      ++task->disturbed;
    }
  }
  task->is_done = 1;
  for (;;) {
  }
}

static void classify(void) { work(&tasks[0]); }
static void denoise(void) { work(&tasks[1]); }

static void make_context(unsigned number, void (*function)(void)) {
  uint64_t *frame = stacks[number] + STACK_BYTES / 8 - FRAME_WORDS;
  frame[FRAME_MEPC] = (uintptr_t)function;
  frame[FRAME_MSTATUS] = MSTATUS;
  contexts[number + 1] = frame;
}

static void run_alone(task_t *task) {
  for (unsigned i = 0; i < IMAGES; ++i) {
    run(task, i);
    memcpy(task->alone[i], task->output, task->output_bytes);
  }
}

int main(void) {
  if (mlp_init(&tasks[0].model, &mlp_arena).bits != 0) return 1;
  if (denoiser_init(&tasks[1].model, &denoiser_arena).bits != 0) return 2;
  tasks[0].input = mlp_input_image(&tasks[0].model);
  tasks[0].output = mlp_output_logits(&tasks[0].model);
  tasks[0].output_bytes = MLP_OUTPUT_LOGITS_ELEMENTS * sizeof(float);
  tasks[1].input = denoiser_input_noisy(&tasks[1].model);
  tasks[1].output = denoiser_output_image(&tasks[1].model);
  tasks[1].output_bytes = DENOISER_OUTPUT_IMAGE_ELEMENTS * sizeof(float);
  run_alone(&tasks[0]);
  run_alone(&tasks[1]);
  make_context(0, classify);
  make_context(1, denoise);
  start_timer();
  __asm__ volatile("csrw mtvec, %0" : : "r"(switch_task));
  __asm__ volatile("csrs mie, %0" : : "r"(0x80));
  __asm__ volatile("csrsi mstatus, 8" : : : "memory");
  while (tasks[0].is_done == 0 || tasks[1].is_done == 0) {
  }
  __asm__ volatile("csrci mstatus, 8" : : : "memory");
  print(switches > 2 * ROUNDS * IMAGES ? "preempted" : "not preempted");
  print(", disturbed ");
  print_number(tasks[0].disturbed + tasks[1].disturbed);
  print("\n");
  return 0;
}
