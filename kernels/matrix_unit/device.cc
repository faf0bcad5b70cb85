// The matrix unit as a device of Spike: `--device=matrix_unit,ADDRESS`.
// README.md is its specification.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include <riscv/abstract_device.h>
#include <riscv/encoding.h>
#include <riscv/processor.h>
#include <riscv/sim.h>

#include "kernels/matrix_unit/registers.h"

namespace {

constexpr uint64_t kNever = UINT64_MAX;
// Cycles.
constexpr uint64_t kStart = 32, kJobWords = 4, kShapeWords = 16;
// Bytes that are copied, results and bytes of a window, all in one cycle.
constexpr uint64_t kBusBytes = 8, kOutputs = 16, kRunBytes = 16;
constexpr reg_t kPage = 4096;

using Job = std::array<uint32_t, MATRIX_UNIT_JOB_WORDS>;
using Shape = std::array<uint32_t, MATRIX_UNIT_SHAPE_WORDS>;

uint64_t up(uint64_t count, uint64_t part) { return (count + part - 1) / part; }

int32_t as_signed(uint32_t word) { return static_cast<int32_t>(word); }

struct list_t {
  Shape shape;
  std::array<reg_t, MATRIX_UNIT_BASES> bases;
};

// A job with its time.
struct timed_t {
  Job job;
  list_t list;
  uint64_t start;
  uint64_t end;
  uint32_t number;
  matrix_unit_error_t error;
  // Of the last one to end.
  bool ends_list;
  uint64_t busy;
};

bool multiplies(const Job &job) {
  return job[MATRIX_UNIT_KIND] == MATRIX_UNIT_MULTIPLY;
}

}  // namespace

// Spike's macro wants this name, and it outside of any namespace.
class matrix_unit_t : public abstract_device_t {
 public:
  enum class Fault { kNone, kFails, kHangs };

  matrix_unit_t(simif_t *machine, Fault fault)
      : machine_(machine), fault_(fault) {
    reset();
  }

  reg_t size() override { return MATRIX_UNIT_BYTES; }

  bool load(reg_t at, size_t size, uint8_t *bytes) override {
    if (size != sizeof(uint32_t) || at % sizeof(uint32_t) != 0) return false;
    advance();
    const uint32_t word = read(at);
    std::memcpy(bytes, &word, sizeof(word));
    return true;
  }

  bool store(reg_t at, size_t size, const uint8_t *bytes) override {
    if (size != sizeof(uint32_t) || at % sizeof(uint32_t) != 0) return false;
    advance();
    uint32_t word;
    std::memcpy(&word, bytes, sizeof(word));
    write(at, word);
    return true;
  }

 private:
  void reset() {
    scratchpad_.assign(MATRIX_UNIT_SCRATCHPAD_BYTES, 0);
    addresses_.fill(0);
    jobs_.clear();
    submitted_ = ended_ = error_job_ = 0;
    error_ = MATRIX_UNIT_OK;
    free_ = 0;
    multiplied_ = copied_ = busy_ = 0;
  }

  uint64_t now() const {
    return machine_->get_harts().begin()->second->get_csr(CSR_MINSTRET);
  }

  uint32_t read(reg_t at) const {
    switch (at) {
      case MATRIX_UNIT_ID:
        return MATRIX_UNIT_ID_VALUE;
      case MATRIX_UNIT_SUBMITTED:
        return submitted_;
      case MATRIX_UNIT_ENDED:
        return ended_;
      case MATRIX_UNIT_ERROR:
        return error_;
      case MATRIX_UNIT_ERROR_JOB:
        return error_job_;
    }
    const uint64_t counters[] = {multiplied_, copied_, busy_};
    if (at >= MATRIX_UNIT_MULTIPLIED &&
        at < MATRIX_UNIT_MULTIPLIED + sizeof(counters)) {
      const reg_t offset = at - MATRIX_UNIT_MULTIPLIED;
      return static_cast<uint32_t>(counters[offset / 8] >> 8 * (offset % 8));
    }
    return 0;
  }

  void write(reg_t at, uint32_t word) {
    if (at == MATRIX_UNIT_RESET) {
      reset();
    } else if (at == MATRIX_UNIT_SUBMIT) {
      submit(word);
    } else if (at >= MATRIX_UNIT_LIST &&
               at < MATRIX_UNIT_BASE + 8 * MATRIX_UNIT_BASES) {
      addresses_[(at - MATRIX_UNIT_LIST) / 4] = word;
    }
  }

  reg_t address(reg_t at) const {
    const size_t index = (at - MATRIX_UNIT_LIST) / 4;
    return static_cast<reg_t>(addresses_[index + 1]) << 32 | addresses_[index];
  }

  // Copies between memory and `bytes`; false where no memory is.
  bool copy(reg_t at, uint64_t size, uint8_t *bytes, bool to_memory) {
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

  bool is_memory(reg_t at, uint64_t size) {
    if (size == 0 || at + size < at) return false;
    for (reg_t page = at / kPage; page <= (at + size - 1) / kPage; ++page) {
      if (machine_->addr_to_mem(page * kPage) == nullptr) return false;
    }
    return true;
  }

  void fail(matrix_unit_error_t error, uint32_t job) {
    error_ = error;
    error_job_ = job;
    jobs_.clear();
  }

  // Times all jobs of a list; what is wrong with one is known when it begins.
  void submit(uint32_t count) {
    if (error_ != MATRIX_UNIT_OK) return;
    if (submitted_ - ended_ == MATRIX_UNIT_LISTS) {
      return fail(MATRIX_UNIT_QUEUE_FULL, 0);
    }
    ++submitted_;
    list_t list;
    for (size_t i = 0; i != list.bases.size(); ++i) {
      list.bases[i] = address(MATRIX_UNIT_BASE + 8 * i);
    }
    const reg_t from = address(MATRIX_UNIT_LIST);
    const uint64_t begin = std::max(now(), free_) + kShapeWords;
    uint64_t free[] = {begin, begin};
    // When each job of either queue ends.
    std::vector<uint64_t> ends[2];
    if (!copy(from, sizeof(Shape), bytes_of(list.shape), false)) {
      return fail(MATRIX_UNIT_BAD_ADDRESS, 0);
    }
    if (count == 0) return fail(MATRIX_UNIT_BAD_SIZE, 0);
    for (uint32_t number = 0; number != count; ++number) {
      timed_t next = {{}, list, 0, 0, number, MATRIX_UNIT_OK, false, 0};
      if (!copy(from + sizeof(Shape) + number * sizeof(Job), sizeof(Job),
                bytes_of(next.job), false)) {
        return fail(MATRIX_UNIT_BAD_ADDRESS, number);
      }
      const bool queue = multiplies(next.job);
      const uint32_t after = next.job[MATRIX_UNIT_AFTER];
      next.start = free[queue] + kJobWords;
      next.error = checked(next.job, list);
      if (after > ends[!queue].size()) next.error = MATRIX_UNIT_BAD_JOB;
      if (after != 0 && next.error == MATRIX_UNIT_OK) {
        next.start = std::max(next.start, ends[!queue][after - 1]);
      }
      next.end = next.start;
      if (fault_ == Fault::kFails) next.error = MATRIX_UNIT_BROKEN;
      if (fault_ == Fault::kHangs) next.end = kNever;
      const bool is_last = next.error != MATRIX_UNIT_OK || next.end == kNever;
      if (!is_last) next.end += cycles(next.job, list);
      free[queue] = next.end;
      ends[queue].push_back(next.end);
      jobs_.push_back(next);
      if (is_last) break;
    }
    const auto first = jobs_.end() - (ends[0].size() + ends[1].size());
    const auto last = jobs_.end();
    std::sort(first, last, [](const timed_t &a, const timed_t &b) {
      return a.start < b.start;
    });
    uint64_t busy = 0, until = 0;
    for (auto job = first; job != last; ++job) {
      const uint64_t from = std::max(job->start, until);
      if (job->end > from) busy += job->end - from;
      until = std::max(job->end, until);
    }
    std::sort(first, last, [](const timed_t &a, const timed_t &b) {
      return a.end != b.end ? a.end < b.end : a.number < b.number;
    });
    jobs_.back().ends_list = true;
    jobs_.back().busy = busy;
    free_ = until;
  }

  template <typename Words>
  static uint8_t *bytes_of(Words &words) {
    return reinterpret_cast<uint8_t *>(words.data());
  }

  static uint64_t window_bytes(const Shape &shape) {
    return static_cast<uint64_t>(shape[MATRIX_UNIT_TAP_LINES]) *
           shape[MATRIX_UNIT_TAP_COLUMNS] * shape[MATRIX_UNIT_RUN];
  }

  static uint64_t results(const Job &job, const Shape &shape) {
    return static_cast<uint64_t>(job[MATRIX_UNIT_LINES]) *
           shape[MATRIX_UNIT_COLUMNS] * job[MATRIX_UNIT_OUTPUTS];
  }

  static uint64_t cycles(const Job &job, const list_t &list) {
    const Shape &shape = list.shape;
    if (!multiplies(job)) {
      const uint64_t lines = job[MATRIX_UNIT_COPY_LINES];
      return kStart + lines * (1 + up(job[MATRIX_UNIT_COPY_BYTES], kBusBytes));
    }
    const uint64_t windows = static_cast<uint64_t>(job[MATRIX_UNIT_LINES]) *
                             shape[MATRIX_UNIT_COLUMNS];
    const uint64_t reads =
        shape[MATRIX_UNIT_IMAGE_OUTPUT] != 0
            ? window_bytes(shape)
            : static_cast<uint64_t>(shape[MATRIX_UNIT_TAP_LINES]) *
                  shape[MATRIX_UNIT_TAP_COLUMNS] *
                  up(shape[MATRIX_UNIT_RUN], kRunBytes);
    return kStart + windows * reads * up(job[MATRIX_UNIT_OUTPUTS], kOutputs);
  }

  matrix_unit_error_t checked(const Job &job, const list_t &list) {
    if (multiplies(job)) return checked_product(job, list.shape);
    if (job[MATRIX_UNIT_KIND] > MATRIX_UNIT_STORE ||
        job[MATRIX_UNIT_COPY_BASE] >= MATRIX_UNIT_BASES) {
      return MATRIX_UNIT_BAD_JOB;
    }
    const uint64_t bytes = job[MATRIX_UNIT_COPY_BYTES];
    const uint64_t lines = job[MATRIX_UNIT_COPY_LINES];
    if (bytes == 0 || lines == 0) return MATRIX_UNIT_BAD_SIZE;
    if (!is_inside(job[MATRIX_UNIT_COPY_PLACE], bytes * lines)) {
      return MATRIX_UNIT_BAD_ADDRESS;
    }
    for (uint64_t line = 0; line != lines; ++line) {
      if (!is_memory(line_at(job, list, line), bytes)) {
        return MATRIX_UNIT_BAD_ADDRESS;
      }
    }
    return MATRIX_UNIT_OK;
  }

  static matrix_unit_error_t checked_product(const Job &job,
                                             const Shape &shape) {
    const uint64_t window = window_bytes(shape);
    const uint64_t outputs = job[MATRIX_UNIT_OUTPUTS];
    const uint32_t mode = shape[MATRIX_UNIT_MODE];
    if (mode > MATRIX_UNIT_INT8_DOWN) return MATRIX_UNIT_BAD_JOB;
    // Products of what fits have no more than 64 bits.
    for (const uint32_t factor :
         {shape[MATRIX_UNIT_TAP_LINES], shape[MATRIX_UNIT_TAP_COLUMNS],
          shape[MATRIX_UNIT_RUN], shape[MATRIX_UNIT_COLUMNS],
          job[MATRIX_UNIT_LINES], job[MATRIX_UNIT_OUTPUTS]}) {
      if (factor == 0) return MATRIX_UNIT_BAD_SIZE;
      if (factor > MATRIX_UNIT_SCRATCHPAD_BYTES) return MATRIX_UNIT_BAD_ADDRESS;
    }
    const auto reach = [](uint64_t count, uint64_t step) {
      return (count - 1) * step;
    };
    const uint64_t image =
        reach(job[MATRIX_UNIT_LINES], shape[MATRIX_UNIT_IMAGE_Y]) +
        reach(shape[MATRIX_UNIT_COLUMNS], shape[MATRIX_UNIT_IMAGE_X]) +
        reach(shape[MATRIX_UNIT_TAP_LINES], shape[MATRIX_UNIT_IMAGE_TAP_Y]) +
        reach(shape[MATRIX_UNIT_TAP_COLUMNS], shape[MATRIX_UNIT_IMAGE_TAP_X]) +
        reach(outputs, shape[MATRIX_UNIT_IMAGE_OUTPUT]) +
        shape[MATRIX_UNIT_RUN];
    const bool sums = mode == MATRIX_UNIT_SUMS;
    const bool fits =
        is_inside(job[MATRIX_UNIT_IMAGE], image) &&
        is_inside(job[MATRIX_UNIT_WEIGHTS], window * outputs) &&
        (sums || is_inside(job[MATRIX_UNIT_NUMBERS], 12 * outputs)) &&
        is_inside(job[MATRIX_UNIT_RESULT],
                  results(job, shape) * (sums ? 4 : 1));
    return fits ? MATRIX_UNIT_OK : MATRIX_UNIT_BAD_ADDRESS;
  }

  static bool is_inside(uint64_t place, uint64_t bytes) {
    return place <= MATRIX_UNIT_SCRATCHPAD_BYTES &&
           bytes <= MATRIX_UNIT_SCRATCHPAD_BYTES - place;
  }

  static reg_t line_at(const Job &job, const list_t &list, uint64_t line) {
    return list.bases[job[MATRIX_UNIT_COPY_BASE]] +
           job[MATRIX_UNIT_COPY_OFFSET] + line * job[MATRIX_UNIT_COPY_STEP];
  }

  // Does what has ended by now.
  void advance() {
    const uint64_t time = now();
    while (!jobs_.empty() && jobs_.front().end <= time) {
      const timed_t next = jobs_.front();
      jobs_.pop_front();
      if (next.error != MATRIX_UNIT_OK) return fail(next.error, next.number);
      run(next);
      (multiplies(next.job) ? multiplied_ : copied_) += next.end - next.start;
      busy_ += next.busy;
      if (next.ends_list) ++ended_;
    }
  }

  void run(const timed_t &next) {
    const Job &job = next.job;
    if (multiplies(job)) return multiply(job, next.list.shape);
    const uint64_t bytes = job[MATRIX_UNIT_COPY_BYTES];
    for (uint64_t line = 0; line != job[MATRIX_UNIT_COPY_LINES]; ++line) {
      copy(line_at(job, next.list, line), bytes,
           &scratchpad_[job[MATRIX_UNIT_COPY_PLACE] + line * bytes],
           job[MATRIX_UNIT_KIND] == MATRIX_UNIT_STORE);
    }
  }

  void multiply(const Job &job, const Shape &shape) {
    const uint32_t outputs = job[MATRIX_UNIT_OUTPUTS];
    uint64_t result = 0;
    for (uint32_t y = 0; y != job[MATRIX_UNIT_LINES]; ++y) {
      for (uint32_t x = 0; x != shape[MATRIX_UNIT_COLUMNS]; ++x) {
        const uint64_t window = job[MATRIX_UNIT_IMAGE] +
                                y * shape[MATRIX_UNIT_IMAGE_Y] +
                                x * shape[MATRIX_UNIT_IMAGE_X];
        for (uint32_t output = 0; output != outputs; ++output, ++result) {
          const uint32_t sum =
              product(shape, window + output * shape[MATRIX_UNIT_IMAGE_OUTPUT],
                      job[MATRIX_UNIT_WEIGHTS] + output * window_bytes(shape));
          if (shape[MATRIX_UNIT_MODE] == MATRIX_UNIT_SUMS) {
            std::memcpy(&scratchpad_[job[MATRIX_UNIT_RESULT] + 4 * result],
                        &sum, sizeof(sum));
          } else {
            scratchpad_[job[MATRIX_UNIT_RESULT] + result] =
                requantized(job, shape, sum, output);
          }
        }
      }
    }
  }

  uint32_t product(const Shape &shape, uint64_t window, uint64_t weight) const {
    uint32_t sum = 0;
    for (uint32_t y = 0; y != shape[MATRIX_UNIT_TAP_LINES]; ++y) {
      for (uint32_t x = 0; x != shape[MATRIX_UNIT_TAP_COLUMNS]; ++x) {
        const uint64_t run = window + y * shape[MATRIX_UNIT_IMAGE_TAP_Y] +
                             x * shape[MATRIX_UNIT_IMAGE_TAP_X];
        for (uint32_t i = 0; i != shape[MATRIX_UNIT_RUN]; ++i) {
          sum += static_cast<int8_t>(scratchpad_[run + i]) *
                 static_cast<int8_t>(scratchpad_[weight++]);
        }
      }
    }
    return sum;
  }

  int32_t number(const Job &job, uint32_t kind, uint32_t output) const {
    int32_t value;
    const uint32_t index = kind * job[MATRIX_UNIT_OUTPUTS] + output;
    std::memcpy(&value, &scratchpad_[job[MATRIX_UNIT_NUMBERS] + 4 * index],
                sizeof(value));
    return value;
  }

  uint8_t requantized(const Job &job, const Shape &shape, uint32_t sum,
                      uint32_t output) const {
    const int64_t biased =
        as_signed(sum + static_cast<uint32_t>(number(job, 0, output)));
    const int64_t multiplier = number(job, 1, output);
    const int shift = number(job, 2, output) & 31;
    int64_t value = (biased * multiplier + (INT64_C(1) << 30)) >> 31;
    if (shape[MATRIX_UNIT_MODE] == MATRIX_UNIT_INT8_DOWN && biased < 0) --value;
    value = (value + (INT64_C(1) << shift >> 1)) >> shift;
    value += as_signed(shape[MATRIX_UNIT_ZERO]);
    const int64_t low = as_signed(shape[MATRIX_UNIT_LOW]);
    const int64_t high = as_signed(shape[MATRIX_UNIT_HIGH]);
    return static_cast<uint8_t>(std::min(std::max(value, low), high));
  }

  simif_t *const machine_;
  const Fault fault_;
  std::vector<uint8_t> scratchpad_;
  // From MATRIX_UNIT_LIST on.
  std::array<uint32_t, 8 + 2 * MATRIX_UNIT_BASES> addresses_;
  // In the order in which they end.
  std::deque<timed_t> jobs_;
  uint32_t submitted_, ended_, error_job_;
  matrix_unit_error_t error_;
  // When the last list ends.
  uint64_t free_;
  uint64_t multiplied_, copied_, busy_;
};

namespace {

matrix_unit_t *parse(const void *, const sim_t *machine, reg_t *base,
                     const std::vector<std::string> &arguments) {
  if (arguments.empty() || arguments.size() > 2) {
    throw std::runtime_error("matrix_unit: say ADDRESS, then fails or hangs");
  }
  *base = std::stoull(arguments[0], nullptr, 0);
  auto fault = matrix_unit_t::Fault::kNone;
  if (arguments.size() == 2) {
    if (arguments[1] == "fails") {
      fault = matrix_unit_t::Fault::kFails;
    } else if (arguments[1] == "hangs") {
      fault = matrix_unit_t::Fault::kHangs;
    } else {
      throw std::runtime_error("matrix_unit: no fault " + arguments[1]);
    }
  }
  return new matrix_unit_t(const_cast<sim_t *>(machine), fault);
}

std::string describe(const sim_t *, const std::vector<std::string> &) {
  return "";
}

}  // namespace

REGISTER_DEVICE(matrix_unit, parse, describe)
