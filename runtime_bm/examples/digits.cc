// The same from C++: the header needs no wrapper. Its example is a function
// too.
#define MLP_EXAMPLE
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "models/mlp/mlp/mlp.h"
#include "runtime_bm/app/golden.h"

extern "C" const bm_golden_t mlp_golden;

namespace {

class Classifier {
 public:
  bool Init() { return bm_status_is_ok(mlp_init(&model_, &arena_)); }

  // Returns the digit that `image` (64 floats) shows, or -1 on an error.
  int Classify(const uint8_t *image) {
    std::memcpy(mlp_input_image(&model_), image,
                MLP_INPUT_IMAGE_ELEMENTS * sizeof(float));
    if (!bm_status_is_ok(bm_model_run(&model_))) return -1;
    const float *logits = mlp_output_logits(&model_);
    const float *end = logits + MLP_OUTPUT_LOGITS_ELEMENTS;
    return static_cast<int>(std::max_element(logits, end) - logits);
  }

 private:
  mlp_arena_t arena_;
  bm_model_t model_;
};

}  // namespace

int main() {
  static Classifier classifier;
  if (!bm_status_is_ok(mlp_example()) || !classifier.Init()) return 1;
  const auto *labels = reinterpret_cast<const uint32_t *>(mlp_golden.labels);
  uint32_t correct = 0;
  for (uint32_t i = 0; i < mlp_golden.case_count; ++i) {
    const uint8_t *image =
        mlp_golden.data +
        size_t{i} * (mlp_golden.data_bytes / mlp_golden.case_count);
    correct += classifier.Classify(image) == static_cast<int>(labels[i]);
  }
  std::printf("%u of %u digits classified right\n", correct,
              mlp_golden.case_count);
  return correct == mlp_golden.framework_correct ? 0 : 1;
}
