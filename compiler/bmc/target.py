"""The instruction sets in isas.bzl, as LLVM and ELF describe them."""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass
from importlib import resources
from typing import Any

from bmc.errors import BmcError

EM_X86_64 = 62
EM_RISCV = 243


class PlanIsa(enum.IntEnum):
    """Bits of bm_plan_t.isa. A test compares them with runtime_bm/plan/plan_abi.json."""

    RV64 = 1
    V = 2
    X86_64 = 4
    RV32 = 8
    ZVE32F = 16
    P = 32
    ZVDOT4A8I = 64
    ZVFH = 128
    XSMTVDOT = 256
    ZVFBFMIN = 512
    ZVFBFWMA = 1024


@dataclass(frozen=True, slots=True)
class Target:
    """One instruction set.

    Attributes:
      isa: the name that users type.
      triple: LLVM target triple.
      cpu: LLVM CPU name.
      features: LLVM feature string for the kernels.
      march: extensions of the hart, as for -march.
      abi: LLVM ABI name, "" if the triple implies it.
      xlen: bits of a pointer.
      vlen_bits: smallest VLEN, in bits, on which the kernels may run; 0 without vectors.
      isa_bits: PlanIsa bits for bm_plan_t.isa.
      elf_machine: e_machine of the embedded ELF.
      relative_relocation: the only relocation kind allowed in the embedded ELF.
      float_abi: on RISC-V, the float ABI bits of e_flags.
      extensions: on RISC-V, the extensions that LLVM lists in Tag_RISCV_arch, implied ones included.
    """

    isa: str
    triple: str
    cpu: str
    features: str
    march: str
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
    def has_f16(self) -> bool:
        """Whether harts compute with f16; on x86-64 LLVM has functions for that."""
        return not self.is_riscv or "zvfh" in self.extensions

    @property
    def halves(self) -> frozenset[str]:
        """The float types of 16 bits that kernels of bmc's own may read and write."""
        needs = {"bf16": "zvfbfmin", "f16": "zvfh"}
        return frozenset(half for half, each in needs.items() if each in self.extensions)

    @property
    def multiplies_bf16(self) -> bool:
        """Whether harts have instructions for products of bf16, besides those that convert it."""
        return "zvfbfwma" in self.extensions

    @property
    def dot_channels(self) -> int:
        """How many channels an image of int8 has at least that libraries with dot products take; 0 without these.

        With fewer, most of a matrix of XSMTVDot would be empty, and the image stays with kernels of bmc's own.
        """
        if self.isa_bits & PlanIsa.XSMTVDOT:
            return 4
        return 1 if self.isa_bits & PlanIsa.ZVDOT4A8I else 0

    @property
    def soft_float(self) -> bool:
        """Whether all floating-point operations are calls, as on RISC-V without F."""
        return self.is_riscv and self.float_abi == 0

    def iree_flags(self) -> tuple[str, ...]:
        """Returns the flags that make iree-compile write one embedded ELF for this instruction set."""
        flags = (
            "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
            f"--iree-llvmcpu-target-triple={self.triple}",
            f"--iree-llvmcpu-target-cpu={self.cpu}",
            f"--iree-llvmcpu-target-cpu-features={self.features}",
            "--iree-llvmcpu-debug-symbols=false",
            # "debug" runs one kernel after the other, as a single hart does anyway. Without assumed
            # concurrency, transients share memory better: MiniLM's arena is at its liveness bound
            # instead of 16 % above it.
            "--iree-stream-partitioning-favor=debug",
        )
        return flags + (
            (f"--iree-llvmcpu-target-abi={self.abi}",) if self.is_riscv else (WHOLE_VECTORS,)
        )


# Integer divisions by zero trap on x86-64. In lanes that a mask leaves out, IREE divides by zeros that no model has
# (docs/upstream/iree-masked-division.md). So there vectors are not masked; the rest of a row is a loop of its own.
WHOLE_VECTORS = "--iree-llvmcpu-vector-pproc-strategy=peel"

# Bits of e_flags.
_FLOAT_ABI = {"ilp32": 0, "ilp32f": 2, "lp64d": 4}

# Extensions -> the extensions that LLVM lists in Tag_RISCV_arch because of them.
_IMPLIED = {
    ("m",): ("zmmul",),
    ("a",): ("zaamo", "zalrsc"),
    ("f",): ("zicsr",),
    ("c",): ("zca",),
    ("c", "d"): ("zcd",),
    ("rv32", "c", "f"): ("zcf",),
    ("v",): ("zve32x", "zve32f", "zve64x", "zve64f", "zve64d"),
    ("zfh",): ("zfhmin",),
    ("zve32f",): ("zve32x",),
    ("zvfbfwma",): ("zfbfmin", "zvfbfmin"),
    ("zvfh",): ("zfhmin", "zvfhmin"),
}

# Kernels access no control registers and write no code.
_NOT_FOR_KERNELS = ("zicsr", "zifencei")


def _riscv(isa: str, facts: dict[str, Any]) -> Target:
    xlen, vlen_bits, abi = facts["xlen"], facts["vlen_bits"], facts["abi"]
    base, *long_names = facts["march"].split("_")
    # The first five characters are "rv32i" or "rv64i".
    named = (*base[5:], *long_names)
    implied = {
        extension
        for by, extensions in _IMPLIED.items()
        if {base[:4], *named}.issuperset(by)
        for extension in extensions
    }
    vlens = (f"zvl{n}b" for n in (32, 64, 128, 256, 512, 1024) if n <= vlen_bits)
    return Target(
        isa=isa,
        triple=f"riscv{xlen}-unknown-elf",
        cpu=f"generic-rv{xlen}",
        features=",".join(f"+{name}" for name in named if name not in _NOT_FOR_KERNELS),
        march=facts["march"],
        abi=abi,
        xlen=xlen,
        vlen_bits=vlen_bits,
        isa_bits=_isa_bits(facts),
        elf_machine=EM_RISCV,
        relative_relocation=3,
        float_abi=_FLOAT_ABI[abi],
        extensions=frozenset(("i", *named, *implied, *vlens)),
    )


def _x86_64(isa: str, facts: dict[str, Any]) -> Target:
    return Target(
        isa=isa,
        triple="x86_64-unknown-unknown-eabi-elf",
        cpu=facts["march"],
        features="",
        march=facts["march"],
        abi=facts["abi"],
        xlen=facts["xlen"],
        vlen_bits=facts["vlen_bits"],
        isa_bits=_isa_bits(facts),
        elf_machine=EM_X86_64,
        relative_relocation=8,
    )


def _isa_bits(facts: dict[str, Any]) -> int:
    return sum(PlanIsa[name] for name in facts["plan_bits"])


def _read_table() -> tuple[Target, ...]:
    source = resources.files("bmc").joinpath("isas.bzl").read_text(encoding="utf-8")
    assignment = ast.parse(source).body[-1]
    assert isinstance(assignment, ast.Assign)
    return tuple(
        _x86_64(isa, facts) if isa == "x86_64" else _riscv(isa, facts)
        for isa, facts in ast.literal_eval(assignment.value).items()
    )


_TARGETS = _read_table()

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
