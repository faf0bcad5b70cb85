// Says which digits pictures show. The build makes images.h.
#define MLP_EXAMPLE
#include "board.h"
#include "images.h"
#include "mlp.h"
#include "runtime_bm/base/memory.h"

static mlp_arena_t arena;

static unsigned largest(const float *values) {
  unsigned best = 0;
  for (unsigned i = 1; i < MLP_OUTPUT_LOGITS_ELEMENTS; ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

int main(void) {
  bm_model_t model;
  const bm_status_t status = mlp_init(&model, &arena);
  if (status.bits != 0) {
    print("refused with code ");
    print_number(bm_status_code(status));
    print("\n");
    return 1;
  }
  if (mlp_example().bits != 0) return 2;
  print("digits ");
  for (unsigned i = 0; i < IMAGES; ++i) {
    memcpy(mlp_input_image(&model), images[i], sizeof(images[i]));
    if (bm_model_run(&model).bits != 0) return 3;
    print_number(largest(mlp_output_logits(&model)));
  }
  print("\n");
  return 0;
}
