// The same from C++: the header needs no wrapper.
#include <array>
#include <cstdio>

#include "models/mlp/mlp/plan.h"
#include "runtime_bm/app/golden.h"
#include "runtime_bm/bm.h"

extern "C" const bm_golden_t mlp_golden;

namespace {

constexpr std::array<uint32_t, 2> kShape = {1, 64};

class Classifier {
 public:
  bool Init() {
    const bm_span_t memory = {arena_.data(), arena_.size()};
    return bm_status_is_ok(
        bm_model_init(&model_, &mlp_plan, memory, bm_span_t{}));
  }

  // Returns the digit that `image` (64 floats) shows, or -1 on an error.
  int Classify(const uint8_t *image) {
    bm_tensor_t logits;
    if (!bm_status_is_ok(bm_model_set_input(&model_, 0, BM_DTYPE_F32,
                                            kShape.data(), kShape.size(), image,
                                            64 * sizeof(float))) ||
        !bm_status_is_ok(bm_model_run(&model_)) ||
        !bm_status_is_ok(bm_model_output(&model_, 0, &logits))) {
      return -1;
    }
    const auto *values = static_cast<const float *>(logits.data);
    int best = 0;
    for (int i = 1; i < 10; ++i) {
      if (values[i] > values[best]) best = i;
    }
    return best;
  }

 private:
  alignas(64) std::array<uint8_t, MLP_ARENA_BYTES> arena_;
  bm_model_t model_;
};

}  // namespace

int main() {
  static Classifier classifier;
  if (!classifier.Init()) return 1;
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
