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
ISA_RV32 = 8
ISA_ZVE32F = 16


@dataclass(frozen=True, slots=True)
class Target:
    """One instruction set.

    Attributes:
      isa: the name users type.
      triple: LLVM target triple.
      cpu: LLVM CPU name.
      features: LLVM feature string of the kernels.
      abi: LLVM ABI name, "" where the triple implies it.
      xlen: bits of a pointer.
      vlen_bits: smallest VLEN in bits the kernels may run on; 0 without vectors.
      isa_bits: ISA_* bits for bm_plan_t.isa.
      elf_machine: e_machine of the embedded ELF.
      relative_relocation: the one relocation kind allowed in the embedded ELF.
      float_abi: of RISC-V, the float ABI bits of e_flags.
      extensions: of RISC-V, what LLVM lists in Tag_RISCV_arch, by implication.
    """

    isa: str
    triple: str
    cpu: str
    features: str
    abi: str
    xlen: int
    vlen_bits: int
    isa_bits: int
    elf_machine: int
    relative_relocation: int
    float_abi: int = 0
    extensions: frozenset[str] = frozenset()

    @property
    def is_riscv(self) -> bool:
        return self.elf_machine == EM_RISCV

    @property
    def soft_float(self) -> bool:
        """Whether floating point is all calls: RISC-V without F."""
        return self.is_riscv and self.float_abi == 0

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


_SCALAR = frozenset(("i", "m", "a", "c", "zmmul", "zaamo", "zalrsc", "zca"))
_SINGLE = frozenset(("f", "zicsr"))
_DOUBLE = _SINGLE | {"d", "zcd", "zifencei"}
_ZVE32F = frozenset(("zve32x", "zve32f"))
_V = _ZVE32F | {"v", "zve64x", "zve64f", "zve64d"}


def _zvl(vlen_bits: int) -> frozenset[str]:
    return frozenset(f"zvl{n}b" for n in (32, 64, 128, 256, 512, 1024) if n <= vlen_bits)


def _rv64(isa: str, vector_features: str, vlen_bits: int) -> Target:
    return Target(
        isa=isa,
        triple="riscv64-unknown-elf",
        cpu="generic-rv64",
        features="+m,+a,+f,+d,+c" + vector_features,
        abi="lp64d",
        xlen=64,
        vlen_bits=vlen_bits,
        isa_bits=ISA_RV64 | (ISA_V if vlen_bits else 0),
        elf_machine=EM_RISCV,
        relative_relocation=3,
        float_abi=4,
        extensions=_SCALAR | _DOUBLE | (_V if vlen_bits else frozenset()) | _zvl(vlen_bits),
    )


_TARGETS = (
    _rv64("rv64gc", "", 0),
    _rv64("rv64gcv_zvl128b", ",+v,+zvl128b", 128),
    _rv64("rv64gcv_zvl256b", ",+v,+zvl256b", 256),
    _rv64("rv64gcv_zvl512b", ",+v,+zvl512b", 512),
    _rv64("rv64gcv_zvl1024b", ",+v,+zvl1024b", 1024),
    Target(
        isa="rv32imac",
        triple="riscv32-unknown-elf",
        cpu="generic-rv32",
        features="+m,+a,+c",
        abi="ilp32",
        xlen=32,
        vlen_bits=0,
        isa_bits=ISA_RV32,
        elf_machine=EM_RISCV,
        relative_relocation=3,
        # What is linked to kernels is compiled like the rest of the firmware.
        extensions=_SCALAR | {"zicsr", "zifencei"},
    ),
    Target(
        isa="rv32imafc_zve32f_zvl128b",
        triple="riscv32-unknown-elf",
        cpu="generic-rv32",
        features="+m,+a,+f,+c,+zve32f,+zvl128b",
        abi="ilp32f",
        xlen=32,
        vlen_bits=128,
        isa_bits=ISA_RV32 | ISA_ZVE32F,
        elf_machine=EM_RISCV,
        relative_relocation=3,
        float_abi=2,
        extensions=_SCALAR | _SINGLE | {"zcf"} | _ZVE32F | _zvl(128),
    ),
    Target(
        isa="x86_64",
        triple="x86_64-unknown-unknown-eabi-elf",
        cpu="x86-64-v2",
        features="",
        abi="",
        xlen=64,
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
