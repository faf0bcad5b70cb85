// Runs an image on a system in gates (soc.py), as an emulator would: the UART
// is standard input and output, and the program ends with the image's status.
//
// The model is made by Verilator and has no clock and no reset of its own.
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "System.h"
#include "System___024root.h"
#include "soc.h"
#include "verilated.h"

namespace {

// Ibex needs a reset of several cycles, because its clock starts with it.
constexpr uint64_t kResetFrom = 2;
constexpr uint64_t kResetTo = 16;
// An image that prints in a loop must not fill a disk.
constexpr uint64_t kMaxOutput = 1 << 20;
// How often, in cycles, to look for input, and to pass on output: whoever
// answers may wait for less than a line.
constexpr uint64_t kInputEvery = 1024;
constexpr int kCannotRun = 2;
// soc.py has so many bits for it.
constexpr uint64_t kMaxRomWait = 255;

[[noreturn]] void fail(const std::string &message) {
  fflush(stdout);
  fprintf(stderr, "simulator: %s\n", message.c_str());
  exit(kCannotRun);
}

// Returns the bytes of the ROM. `Elf` is a 32-bit or 64-bit ELF's types.
template <typename Header, typename Segment>
std::vector<uint8_t> rom_of(const std::string &elf) {
  std::vector<uint8_t> rom(LITEX_ROM_BYTES, 0);
  Header header;
  if (elf.size() < sizeof header) fail("the image's ELF header is cut off");
  memcpy(&header, elf.data(), sizeof header);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const uint64_t at = header.e_phoff + uint64_t{i} * sizeof(Segment);
    Segment segment;
    if (at > elf.size() || elf.size() - at < sizeof segment) {
      fail("the image's program headers are cut off");
    }
    memcpy(&segment, elf.data() + at, sizeof segment);
    if (segment.p_type != PT_LOAD || segment.p_filesz == 0) continue;
    const uint64_t offset = segment.p_offset, size = segment.p_filesz;
    if (offset > elf.size() || elf.size() - offset < size) {
      fail("a segment of the image is cut off");
    }
    const uint64_t place = segment.p_paddr - uint64_t{LITEX_ROM_BASE};
    if (place > rom.size() || rom.size() - place < size) {
      char text[160];
      snprintf(text, sizeof text,
               "the image has %" PRIu64 " bytes at 0x%" PRIx64
               ", outside the ROM (%u bytes at 0x%x): build it for this board",
               size, uint64_t{segment.p_paddr}, LITEX_ROM_BYTES,
               LITEX_ROM_BASE);
      fail(text);
    }
    memcpy(rom.data() + place, elf.data() + offset, size);
  }
  return rom;
}

std::vector<uint8_t> read_rom(const char *path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(std::string("cannot read ") + path);
  const std::string elf{std::istreambuf_iterator<char>(file), {}};
  if (elf.size() < EI_NIDENT || memcmp(elf.data(), ELFMAG, SELFMAG) != 0) {
    fail(std::string(path) + " is not an ELF file");
  }
  return elf[EI_CLASS] == ELFCLASS64 ? rom_of<Elf64_Ehdr, Elf64_Phdr>(elf)
                                     : rom_of<Elf32_Ehdr, Elf32_Phdr>(elf);
}

// The bytes that wait on standard input.
class Input {
 public:
  bool ready() const { return at_ < size_; }
  uint8_t byte() const { return bytes_[at_]; }
  void taken() { ++at_; }
  void look() {
    pollfd waiting = {STDIN_FILENO, POLLIN, 0};
    if (ended_ || ready() || poll(&waiting, 1, 0) <= 0) return;
    const ssize_t size = read(STDIN_FILENO, bytes_, sizeof bytes_);
    ended_ = size <= 0;
    at_ = 0;
    size_ = size > 0 ? static_cast<size_t>(size) : 0;
  }

 private:
  uint8_t bytes_[256];
  size_t at_ = 0, size_ = 0;
  bool ended_ = false;
};

// Returns whether `text` is a number from `least` to `most`, which `out` gets.
bool parse(const char *text, uint64_t least, uint64_t most, uint64_t *out) {
  char *end = nullptr;
  *out = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' && *out >= least &&
         *out <= most;
}

int run(System &system, uint64_t max_cycles) {
  Input input;
  uint64_t written = 0;
  system.serial_source_ready = 1;
  system.serial_sink_valid = 0;
  for (uint64_t cycle = 0; cycle < max_cycles; ++cycle) {
    system.sys_rst = cycle >= kResetFrom && cycle < kResetTo;
    system.sys_clk = 0;
    system.eval();
    if (system.serial_source_valid) {
      putchar(system.serial_source_data);
      if (++written == kMaxOutput) fail("the image printed 1 MB: stopped");
    }
    if (system.serial_sink_valid && system.serial_sink_ready) input.taken();
    system.sys_clk = 1;
    system.eval();
    if (cycle % kInputEvery == 0) {
      fflush(stdout);
      input.look();
    }
    system.serial_sink_valid = input.ready();
    if (input.ready()) system.serial_sink_data = input.byte();
    if (system.done_valid) return static_cast<int>(system.done_status & 0xFF);
  }
  char text[96];
  snprintf(text, sizeof text, "the image did not end within %" PRIu64 " cycles",
           max_cycles);
  fail(text);
}

}  // namespace

int main(int argc, char **argv) {
  uint64_t cycles = 0, rom_wait = 0;
  if (argc < 3 || argc > 4 || !parse(argv[1], 1, UINT64_MAX, &cycles) ||
      (argc == 4 && !parse(argv[3], 0, kMaxRomWait, &rom_wait))) {
    fprintf(stderr,
            "usage: %s CYCLES IMAGE.elf [ROM_WAIT]\n"
            "The run fails after CYCLES. Each word of the ROM takes ROM_WAIT "
            "(0 to %" PRIu64 ") cycles longer than the RAM's.\n",
            argv[0], kMaxRomWait);
    return kCannotRun;
  }
  const std::vector<uint8_t> rom = read_rom(argv[2]);
  VerilatedContext context;
  System system(&context);
  auto &words = system.rootp->LITEX_ROM;
  static_assert(sizeof words == LITEX_ROM_BYTES, "a ROM of other words");
  memcpy(&words, rom.data(), rom.size());
  system.rom_wait = static_cast<uint8_t>(rom_wait);
  const int status = run(system, cycles);
  fflush(stdout);
  // Tearing the model down takes long and tells nothing.
  _exit(status);
}
