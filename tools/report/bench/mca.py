"""Cycles of loops as llvm-mca models them on an in-order core with vectors, without its caches."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from tools.report.bench import code

# What llvm-mca calls the cores of compiler/bmc/cores that it knows. LLVM 19, which builds the models, knows the X280.
NAMES = {"x280": "sifive-x280", "x60": "spacemit-x60"}
DEFAULT = NAMES["x280"]
_ITERATIONS = 100
_TARGET = re.compile(r"\b0x[0-9a-f]+ <[^>]*>\s*$|\b0x[0-9a-f]+\s*$")
_JUMPS = re.compile(r"^(b\w+|j|jal|call|tail)$")


@dataclass(frozen=True)
class Core:
    """What models cycles.

    program: llvm-mca. name: of a core that it knows, for -mcpu.
    """

    program: str
    name: str = DEFAULT


def cycles(loops: Sequence[tuple[code.Loop, str]], core: Core) -> list[float] | None:
    """Returns the cycles of one iteration of each loop.

    Args:
      loops: with the operands of the vsetvli before each, "" if there is none; llvm-mca takes the worst
        LMUL otherwise.
      core: whose cycles.

    Returns:
      None if the loops have an instruction that the model of the core does not know.
    """
    if not loops:
        return []
    text = "\n".join(_region(number, loop, kind) for number, (loop, kind) in enumerate(loops))
    flags = ["-mtriple=riscv64", f"-mcpu={core.name}", "-mattr=+v", f"-iterations={_ITERATIONS}"]
    done = subprocess.run(
        [core.program, *flags, "-json"], input=text, capture_output=True, text=True
    )
    if done.returncode:
        return None
    regions = json.loads(done.stdout)["CodeRegions"]
    return [region["SummaryView"]["TotalCycles"] / _ITERATIONS for region in regions]


def _region(number: int, loop: code.Loop, kind: str) -> str:
    lines = [f"# LLVM-MCA-BEGIN loop{number}", f".L{number}:"]
    if found := re.search(r"\be(\d+), (mf?\d)", kind):
        lines += [f"# LLVM-MCA-RISCV-LMUL {found[2].upper()}", f"# LLVM-MCA-RISCV-SEW E{found[1]}"]
    for instruction in loop.body:
        operands = instruction.operands
        if _JUMPS.match(instruction.name):
            operands = _TARGET.sub(f".L{number}", operands)
        lines.append(f"{instruction.name} {operands}")
    return "\n".join([*lines, "# LLVM-MCA-END", ""])
