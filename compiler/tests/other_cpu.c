// When preloaded, makes a program see a different CPU from the machine's: an
// AMD CPU with AVX2, without AVX-512, and with other cache sizes. If the CPU
// supports it (cpuid_fault in /proc/cpuinfo), Linux makes CPUID trap and this
// code changes the answer; otherwise it has no effect. The C library has asked
// before then.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ARCH_SET_CPUID = 0x1012, TRAP = 0, EXECUTE = 1 };

typedef struct {
  uint32_t a, b, c, d;
} cpuid_t;

static cpuid_t ask(uint32_t leaf, uint32_t subleaf) {
  cpuid_t r = {.a = leaf, .c = subleaf};
  __asm__ volatile("cpuid" : "+a"(r.a), "=b"(r.b), "+c"(r.c), "=d"(r.d));
  return r;
}

static cpuid_t cache(uint32_t kind_and_level, uint32_t ways, uint32_t sets) {
  return (cpuid_t){
      .a = 0x100 | kind_and_level, .b = (ways - 1) << 22 | 63, .c = sets - 1};
}

// Leaves and bits: AMD64 Architecture Programmer's Manual, volume 3, appendix
// E.
static cpuid_t answer(uint32_t leaf, uint32_t subleaf) {
  cpuid_t r = ask(leaf, subleaf);
  switch (leaf) {
    case 0:
      memcpy(&r.b, "Auth", 4);
      memcpy(&r.d, "enti", 4);
      memcpy(&r.c, "cAMD", 4);
      r.a = 0x10;
      break;
    case 1:  // Family 25, model 33.
      r.a = 0x00A20F10;
      break;
    case 2:  // Intel's ways to describe caches.
    case 4:
    case 0x14:
    case 0x19:
    case 0x1D:  // And AMX.
    case 0x1E:
      r = (cpuid_t){0};
      break;
    case 7:
      if (subleaf == 0) {
        const uint32_t rdseed_adx_smap = 7u << 18;
        r.a = 0;
        r.b &= 0xFFFFu | rdseed_adx_smap;
        r.c &= ~0x5F42u;  // AVX-512's and GFNI.
        r.d &= ~(3u << 2 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 |
                 1u << 25);  // AVX-512's and AMX.
      } else {
        r = (cpuid_t){0};
      }
      break;
    case 0xD:
      if (subleaf == 0) {
        r.a &= 7;  // x87, SSE, AVX.
      }
      break;
    case 0x8000001D: {
      const cpuid_t caches[] = {cache(0x21, 8, 64), cache(0x22, 8, 64),
                                cache(0x43, 8, 1024), cache(0x63, 16, 32768)};
      r = subleaf < 4 ? caches[subleaf] : (cpuid_t){0};
      break;
    }
    default:
      break;
  }
  return r;
}

static int real_sigaction(int number, const struct sigaction *action,
                          struct sigaction *old) {
  int (*next)(int, const struct sigaction *, struct sigaction *);
  *(void **)&next = dlsym(RTLD_NEXT, "sigaction");
  return next(number, action, old);
}

// The handler stays, whatever the program installs.
int sigaction(int number, const struct sigaction *action,
              struct sigaction *old) {
  return real_sigaction(number, number == SIGSEGV ? NULL : action, old);
}

static void on_trap(int number, siginfo_t *info, void *context) {
  (void)info;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  const uint8_t *code = (const uint8_t *)registers[REG_RIP];
  if (code[0] != 0x0F || code[1] != 0xA2) {
    const struct sigaction fatal = {.sa_handler = SIG_DFL};
    real_sigaction(number, &fatal, NULL);
    return;
  }
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, EXECUTE);
  const cpuid_t r =
      answer((uint32_t)registers[REG_RAX], (uint32_t)registers[REG_RCX]);
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, TRAP);
  registers[REG_RAX] = r.a;
  registers[REG_RBX] = r.b;
  registers[REG_RCX] = r.c;
  registers[REG_RDX] = r.d;
  registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
  const struct sigaction action = {.sa_sigaction = on_trap,
                                   .sa_flags = SA_SIGINFO | SA_NODEFER};
  real_sigaction(SIGSEGV, &action, NULL);
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, TRAP);
}
