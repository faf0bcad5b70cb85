// The matrix unit as a device of Spike: `--device=matrix_unit,ADDRESS`.
// README.md describes it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <riscv/abstract_device.h>
#include <riscv/encoding.h>
#include <riscv/processor.h>
#include <riscv/sim.h>

#include "examples/matrix_unit/registers.h"
#include "kernels/common/product.h"

namespace {

constexpr reg_t kPage = 4096;
constexpr int64_t kMostBytes = 1 << 30;

int64_t in_steps_of(int64_t count, int64_t step) {
  return (count + step - 1) / step;
}

// Elements from the first one to the last one.
int64_t image_extent(const product_t &p) {
  return (p.height - 1LL) * p.image_line + (p.width - 1LL) * p.image_pixel +
         (p.channels - 1LL) * p.image_channel +
         (p.outputs - 1LL) * p.image_output + 1;
}

int64_t result_extent(const product_t &p) {
  return (p.lines - 1LL) * p.result_y + (p.columns - 1LL) * p.result_x +
         (p.outputs - 1LL) * p.result_o + 1;
}

int64_t window(const product_t &p) {
  return int64_t{p.tap_lines} * p.tap_columns * p.channels;
}

// take.py computes the same.
int64_t cycles(const product_t &p, int64_t result_bytes) {
  const int64_t windows = int64_t{p.lines} * p.columns;
  const int64_t image = int64_t{p.height} * p.width * p.channels *
                        (p.image_output != 0 ? p.outputs : 1);
  const int64_t moved =
      image + p.outputs * window(p) + windows * p.outputs * result_bytes;
  return 64 + in_steps_of(moved, 8) +
         windows * in_steps_of(p.outputs, 16) * p.tap_lines * p.tap_columns *
             in_steps_of(p.channels, 16);
}

}  // namespace

// Spike's macro wants this name, and it outside of any namespace.
class matrix_unit_t : public abstract_device_t {
 public:
  matrix_unit_t(simif_t *machine, const std::string &fault)
      : machine_(machine), fault_(fault) {}

  reg_t size() override { return MATRIX_UNIT_BYTES; }

  bool load(reg_t at, size_t size, uint8_t *bytes) override {
    if (size != sizeof(uint32_t) || at % sizeof(uint32_t) != 0) return false;
    advance();
    uint32_t word = 0;
    if (at == MATRIX_UNIT_STATE) word = state_;
    if (at == MATRIX_UNIT_BUSY) word = static_cast<uint32_t>(busy_);
    if (at == MATRIX_UNIT_BUSY + 4) word = static_cast<uint32_t>(busy_ >> 32);
    std::memcpy(bytes, &word, sizeof(word));
    return true;
  }

  bool store(reg_t at, size_t size, const uint8_t *bytes) override {
    if (size != sizeof(uint32_t) || at % sizeof(uint32_t) != 0) return false;
    advance();
    const reg_t address = at - MATRIX_UNIT_PRODUCT;
    if (at == MATRIX_UNIT_RESET) {
      state_ = MATRIX_UNIT_IDLE;
      busy_ = 0;
    } else if (at == MATRIX_UNIT_SUBMIT && state_ == MATRIX_UNIT_IDLE) {
      submit();
    } else if (at >= MATRIX_UNIT_PRODUCT && address < sizeof(addresses_)) {
      std::memcpy(reinterpret_cast<uint8_t *>(addresses_.data()) + address,
                  bytes, size);
    }
    return true;
  }

 private:
  uint64_t now() const {
    return machine_->get_harts().begin()->second->get_csr(CSR_MINSTRET);
  }

  // Copies between memory and `bytes`; false where no memory is.
  bool copy(reg_t at, uint8_t *bytes, uint64_t size, bool to_memory = false) {
    while (size != 0) {
      const uint64_t part = std::min<uint64_t>(size, kPage - at % kPage);
      char *memory = machine_->addr_to_mem(at);
      if (memory == nullptr) return false;
      std::memcpy(to_memory ? static_cast<void *>(memory) : bytes,
                  to_memory ? static_cast<const void *>(bytes) : memory, part);
      at += part;
      bytes += part;
      size -= part;
    }
    return true;
  }

  void submit() {
    std::copy(addresses_.begin() + 1, addresses_.end(), operands_.begin());
    if (!copy(addresses_[0], reinterpret_cast<uint8_t *>(&product_),
              sizeof(product_))) {
      state_ = MATRIX_UNIT_BAD_ADDRESS;
      return;
    }
    state_ = MATRIX_UNIT_WORKS;
    takes_ = cycles(product_, result_bytes());
    end_ = fault_ == "hangs" ? UINT64_MAX : now() + takes_;
  }

  bool is_int8() const { return operands_[MATRIX_UNIT_BIASES] != 0; }
  int64_t result_bytes() const { return is_int8() ? 1 : sizeof(int32_t); }

  // Does what has ended by now.
  void advance() {
    if (state_ != MATRIX_UNIT_WORKS || now() < end_) return;
    busy_ += takes_;
    state_ = fault_ == "fails" ? MATRIX_UNIT_BROKEN
             : run()           ? MATRIX_UNIT_IDLE
                               : MATRIX_UNIT_BAD_ADDRESS;
  }

  // Computes the product. Returns whether all operands are in memory.
  bool run() {
    const product_t &p = product_;
    if (std::min({p.image_line, p.image_pixel, p.image_channel, p.image_output,
                  p.result_y, p.result_x, p.result_o}) < 0) {
      return false;
    }
    const int64_t outputs = p.outputs;
    const int64_t numbers = is_int8() ? outputs * sizeof(int32_t) : 0;
    const int64_t sizes[MATRIX_UNIT_OPERAND_COUNT] = {
        image_extent(p),
        outputs * window(p),
        numbers,
        numbers,
        numbers,
        // What is between results stays as it is.
        result_extent(p) * result_bytes(),
    };
    std::vector<uint8_t> bytes[MATRIX_UNIT_OPERAND_COUNT];
    for (size_t i = 0; i != MATRIX_UNIT_OPERAND_COUNT; ++i) {
      if (sizes[i] < 0 || sizes[i] > kMostBytes) return false;
      bytes[i].resize(sizes[i]);
      if (!copy(operands_[i], bytes[i].data(), sizes[i])) return false;
    }
    product_numbers_t each = {};
    if (is_int8()) {
      each = {as<int32_t>(bytes[MATRIX_UNIT_BIASES]),
              as<int32_t>(bytes[MATRIX_UNIT_MULTIPLIERS]),
              as<int32_t>(bytes[MATRIX_UNIT_SHIFTS])};
    }
    std::vector<uint8_t> &result = bytes[MATRIX_UNIT_RESULT];
    product_run(&p, as<int8_t>(bytes[MATRIX_UNIT_IMAGE]),
                as<int8_t>(bytes[MATRIX_UNIT_WEIGHTS]), &each, result.data());
    return copy(operands_[MATRIX_UNIT_RESULT], result.data(), result.size(),
                true);
  }

  template <typename T>
  static const T *as(const std::vector<uint8_t> &bytes) {
    return reinterpret_cast<const T *>(bytes.data());
  }

  simif_t *const machine_;
  const std::string fault_;
  // As they are written: of the product, and of its operands.
  std::array<uint64_t, 1 + MATRIX_UNIT_OPERAND_COUNT> addresses_ = {};
  // What was submitted, how long it takes, and when it ends.
  product_t product_ = {};
  std::array<uint64_t, MATRIX_UNIT_OPERAND_COUNT> operands_ = {};
  uint64_t takes_ = 0, end_ = 0;
  matrix_unit_state_t state_ = MATRIX_UNIT_IDLE;
  uint64_t busy_ = 0;
};

namespace {

matrix_unit_t *parse(const void *, const sim_t *machine, reg_t *base,
                     const std::vector<std::string> &arguments) {
  const std::string fault = arguments.size() > 1 ? arguments[1] : "";
  const bool is_known = fault.empty() || fault == "fails" || fault == "hangs";
  if (arguments.empty() || arguments.size() > 2 || !is_known) {
    throw std::runtime_error("matrix_unit: say ADDRESS, then fails or hangs");
  }
  *base = std::stoull(arguments[0], nullptr, 0);
  return new matrix_unit_t(const_cast<sim_t *>(machine), fault);
}

std::string describe(const sim_t *, const std::vector<std::string> &) {
  return "";
}

}  // namespace

REGISTER_DEVICE(matrix_unit, parse, describe)
