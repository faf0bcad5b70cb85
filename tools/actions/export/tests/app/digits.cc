// The same in C++, without a standard library.
#define MLP_EXAMPLE
#include "board.h"
#include "images.h"
#include "mlp.h"

namespace {

class Classifier {
 public:
  bool Init() { return mlp_init(&model_, &arena_).bits == 0; }

  int Classify(const float (&image)[MLP_INPUT_IMAGE_ELEMENTS]) {
    float *input = mlp_input_image(&model_);
    for (const float pixel : image) *input++ = pixel;
    if (bm_model_run(&model_).bits != 0) return -1;
    const float *logits = mlp_output_logits(&model_);
    int best = 0;
    for (int i = 1; i < MLP_OUTPUT_LOGITS_ELEMENTS; ++i) {
      if (logits[i] > logits[best]) best = i;
    }
    return best;
  }

 private:
  mlp_arena_t arena_;
  bm_model_t model_;
};

Classifier classifier;

}  // namespace

// Freestanding C++ has no special main.
extern "C" int main() {
  if (!classifier.Init() || mlp_example().bits != 0) return 1;
  print("digits ");
  for (const auto &image : images) print_number(classifier.Classify(image));
  print("\n");
  return 0;
}
