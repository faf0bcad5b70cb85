// The same as hello.c in C++: bm.h is a C header that C++ can include, and what
// C++ adds (exceptions, containers) stays on this side of it.
#include <array>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime_bm/bm.h"
#include "runtime_bm/testing/fake_model.h"

namespace {

void Check(bm_status_t status, const char *what) {
  if (status.bits == 0) return;
  std::array<char, 96> text;
  std::snprintf(text.data(), text.size(),
                "%s failed; `tools/status/decode.py 0x%08x` says where", what,
                static_cast<unsigned>(status.bits));
  throw std::runtime_error(text.data());
}

// A model and the memory it works in.
class Model {
 public:
  explicit Model(const bm_plan_t &plan) : arena_(plan.arena_bytes / 64 + 1) {
    const bm_span_t arena = {arena_[0].bytes, arena_.size() * 64};
    Check(bm_model_init(&model_, &plan, arena, bm_span_t{nullptr, 0}), "init");
  }
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  std::vector<float> Run(const std::vector<float> &x,
                         const std::vector<std::uint32_t> &shape) {
    Check(bm_model_set_input(&model_, 0, BM_DTYPE_F32, shape.data(),
                             static_cast<std::uint32_t>(shape.size()), x.data(),
                             x.size() * sizeof(float)),
          "set_input");
    Check(bm_model_run(&model_), "run");
    bm_tensor_t y;
    Check(bm_model_output(&model_, 0, &y), "output");
    const float *values = static_cast<const float *>(y.data);
    return std::vector<float>(values, values + y.bytes / sizeof(float));
  }

 private:
  // std::vector honours the alignment of its elements since C++17.
  struct alignas(64) Line {
    std::uint8_t bytes[64];
  };
  std::vector<Line> arena_;
  bm_model_t model_;
};

}  // namespace

int main() {
  try {
    Model model(fake_plan);
    std::vector<float> x(64);
    std::iota(x.begin(), x.end(), 0.0f);
    const std::vector<float> y = model.Run(x, {2, 32});
    std::printf("%s: y[0][3] = %g, y[1][31] = %g\n", fake_plan.name,
                static_cast<double>(y[3]), static_cast<double>(y[63]));
    // A wrong shape is an error, not a wrong answer.
    try {
      model.Run(x, {64, 1});
    } catch (const std::runtime_error &error) {
      std::printf("as it should: %s\n", error.what());
      return y[3] == 7.5f && y[63] == 127.0f ? 0 : 1;
    }
    return 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "hello: %s\n", error.what());
    return 1;
  }
}
