"""The instruction sets bmc compiles for: one table, the only target description there is."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.errors import BmcError

EM_X86_64 = 62
EM_RISCV = 243

# bm_plan_t.isa bits, checked against runtime_bm/plan/plan_abi.json by a test.
ISA_RV64 = 1
ISA_V = 2
ISA_X86_64 = 4


@dataclass(frozen=True, slots=True)
class Target:
    """One instruction set.

    Attributes:
      isa: the name users type.
      triple: LLVM target triple.
      cpu: LLVM CPU name.
      features: LLVM feature string of the kernels.
      abi: LLVM ABI name, "" where the triple implies it.
      vlen_bits: smallest VLEN in bits the kernels may run on; 0 without vectors.
      isa_bits: ISA_* bits for bm_plan_t.isa.
      elf_machine: e_machine of the embedded ELF.
      relative_relocation: the one relocation kind allowed in the embedded ELF.
    """

    isa: str
    triple: str
    cpu: str
    features: str
    abi: str
    vlen_bits: int
    isa_bits: int
    elf_machine: int
    relative_relocation: int

    @property
    def is_riscv(self) -> bool:
        return self.elf_machine == EM_RISCV

    def iree_flags(self) -> tuple[str, ...]:
        """Flags that make iree-compile produce one embedded ELF for this instruction set."""
        flags = (
            "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
            f"--iree-llvmcpu-target-triple={self.triple}",
            f"--iree-llvmcpu-target-cpu={self.cpu}",
            f"--iree-llvmcpu-target-cpu-features={self.features}",
            "--iree-llvmcpu-debug-symbols=false",
            # "debug" means one kernel after the other. That is what one hart does anyway, and
            # without imagined concurrency transients share memory better: MiniLM's arena is at
            # its liveness bound instead of 16 % above.
            "--iree-stream-partitioning-favor=debug",
        )
        return flags + ((f"--iree-llvmcpu-target-abi={self.abi}",) if self.abi else ())


def _riscv(isa: str, vector_features: str, vlen_bits: int) -> Target:
    return Target(
        isa=isa,
        triple="riscv64-unknown-elf",
        cpu="generic-rv64",
        features="+m,+a,+f,+d,+c" + vector_features,
        abi="lp64d",
        vlen_bits=vlen_bits,
        isa_bits=ISA_RV64 | (ISA_V if vlen_bits else 0),
        elf_machine=EM_RISCV,
        relative_relocation=3,
    )


_TARGETS = (
    _riscv("rv64gc", "", 0),
    _riscv("rv64gcv_zvl128b", ",+v,+zvl128b", 128),
    _riscv("rv64gcv_zvl256b", ",+v,+zvl256b", 256),
    _riscv("rv64gcv_zvl512b", ",+v,+zvl512b", 512),
    _riscv("rv64gcv_zvl1024b", ",+v,+zvl1024b", 1024),
    Target(
        isa="x86_64",
        triple="x86_64-unknown-unknown-eabi-elf",
        cpu="x86-64-v2",
        features="",
        abi="",
        vlen_bits=0,
        isa_bits=ISA_X86_64,
        elf_machine=EM_X86_64,
        relative_relocation=8,
    ),
)

ISA_NAMES = tuple(target.isa for target in _TARGETS)


def find(isa: str) -> Target:
    """Returns the target called `isa`; raises BmcError listing the known names."""
    for target in _TARGETS:
        if target.isa == isa:
            return target
    raise BmcError(
        "unknown-isa",
        f"unknown instruction set '{isa}'",
        hint="use one of " + ", ".join(ISA_NAMES),
    )
