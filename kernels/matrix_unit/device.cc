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

#include "kernels/matrix_unit/jobs.h"
#include "kernels/matrix_unit/product.h"

namespace {

using matrix_unit::is_inside;
using matrix_unit::Job;
using matrix_unit::kJobWords;
using matrix_unit::kShapeWords;
using matrix_unit::multiplies;
using matrix_unit::Shape;

constexpr uint64_t kNever = UINT64_MAX;
constexpr reg_t kPage = 4096;

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
      if (!is_last) next.end += matrix_unit::cycles(next.job, list.shape);
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

  matrix_unit_error_t checked(const Job &job, const list_t &list) {
    if (multiplies(job)) {
      return matrix_unit::checked_product(job, list.shape);
    }
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
    if (multiplies(job)) {
      return matrix_unit::multiply(job, next.list.shape, scratchpad_);
    }
    const uint64_t bytes = job[MATRIX_UNIT_COPY_BYTES];
    for (uint64_t line = 0; line != job[MATRIX_UNIT_COPY_LINES]; ++line) {
      copy(line_at(job, next.list, line), bytes,
           &scratchpad_[job[MATRIX_UNIT_COPY_PLACE] + line * bytes],
           job[MATRIX_UNIT_KIND] == MATRIX_UNIT_STORE);
    }
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
