"""Reads a disassembly: the loops of each kernel, and what their instructions are for."""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterable, Mapping

_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)(?:\s+(.*))?$")
_BRANCH = re.compile(r"^(b(eq|ne|lt|ge|gt|le)\w*|j|c\.(j|b\w+))$")
_TARGET = re.compile(r"\b0x([0-9a-f]+)(?: <[^>]*>)?\s*$")
# Every form of multiply-add, and products that are added up by another instruction.
_MULTIPLY_ADD = re.compile(
    r"^v(f?w?n?m(acc|sac)(bf16)?|wmacc(u|su|us)|f?n?m(add|sub)|dot4a(u|su|us)?)\."
)
_MULTIPLY = re.compile(r"^vf?w?mul(u|su)?\.")
_SCALAR_FLOAT_PRODUCT = re.compile(r"^f(n?m(add|sub)|mul)\.")
# A product of addresses has no loaded factor.
_SCALAR_LOAD = re.compile(r"^l(b|h|w)u?$")
_SCALAR_INTEGER_PRODUCT = re.compile(r"^mulw?$")
_WHOLE_REGISTER = re.compile(r"^v([ls])([1248])r(?:e\d+)?\.v$")
_SETTING = re.compile(r"^vseti?vli$")
_TYPE = re.compile(r"\be(\d+), m(f?)(\d)\b")
_WIDE = re.compile(r"^vf?w|^vf?ncvt|^vn(sr|clip)")
_MEMORY = re.compile(r"^v[ls]s?e(\d+)(ff)?\.v$")


class Use(enum.Enum):
    """What an instruction is for."""

    VECTOR_PRODUCT = "vector products"
    SCALAR_PRODUCT = "scalar products"
    SPILL = "spills"
    OTHER = "other"


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
    """One line of a disassembly; `operands` is its text after the name."""

    address: int
    name: str
    operands: str

    def __str__(self) -> str:
        return f"{self.address:x}: {self.name} {self.operands}".rstrip()


@dataclasses.dataclass(frozen=True)
class Loop:
    """An innermost loop: the instructions from a branch's target to the branch."""

    body: tuple[Instruction, ...]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """The code of a dispatch function.

    Attributes:
      instructions: in order of their addresses.
      loops: its innermost loops.
      uses: what the instruction at each address is for.
      work: vector registers that the instruction at each address works on (LMUL), 0 for scalar ones.
    """

    instructions: tuple[Instruction, ...]
    loops: tuple[Loop, ...]
    uses: Mapping[int, Use]
    work: Mapping[int, float]

    @property
    def vectorized(self) -> bool:
        """Whether its sums of products are made of vectors.

        A product without a sum may belong to what follows, such as requantization. It counts only if no
        loop multiplies single numbers.
        """
        names = [instruction.name for instruction in self.instructions]
        if any(map(_MULTIPLY_ADD.match, names)):
            return True
        return any(map(_MULTIPLY.match, names)) and not self.scalar_products

    @property
    def scalar_products(self) -> tuple[str, ...]:
        """The names of the instructions that multiply single numbers, in innermost loops without vector products."""
        found = (i.name for i in self.instructions if self.uses[i.address] is Use.SCALAR_PRODUCT)
        return tuple(dict.fromkeys(found))

    @property
    def hot_loop(self) -> Loop | None:
        """The innermost loop with the most vector multiply-adds; if several have as many, the longest of those."""

        def heat(loop: Loop) -> tuple[int, int]:
            products = sum(bool(_MULTIPLY_ADD.match(i.name)) for i in loop.body)
            return products, len(loop.body)

        return max(self.loops, key=heat, default=None)

    @property
    def spills(self) -> int:
        """How many of its instructions store vectors to the stack or load them from there."""
        return sum(use is Use.SPILL for use in self.uses.values())


def instructions(lines: Iterable[str]) -> list[Instruction]:
    """Returns all instructions of a disassembly by llvm-objdump with --no-show-raw-insn."""
    matches = (_LINE.match(line) for line in lines)
    return [Instruction(int(m[1], 16), m[2], m[3] or "") for m in matches if m]


def kernels(code: list[Instruction], starts: Mapping[str, int]) -> dict[str, Kernel]:
    """Returns kernels by name, given their first addresses; each ends where the next one starts."""
    borders = sorted({*starts.values(), code[-1].address + 1 if code else 0})
    ends = dict(zip(borders, borders[1:], strict=False))
    return {
        name: read([i for i in code if start <= i.address < ends[start]])
        for name, start in starts.items()
    }


def read(body: list[Instruction]) -> Kernel:
    """Returns a kernel, given its instructions."""
    loops = _innermost(body)
    inside: dict[int, Loop] = {i.address: loop for loop in loops for i in loop.body}
    return Kernel(
        instructions=tuple(body),
        loops=tuple(loops),
        uses={i.address: _use(i, inside.get(i.address)) for i in body},
        work=_work(body),
    )


def _innermost(body: list[Instruction]) -> list[Loop]:
    index = {instruction.address: number for number, instruction in enumerate(body)}
    spans = []
    for number, instruction in enumerate(body):
        target = _TARGET.search(instruction.operands)
        if not target or not _BRANCH.match(instruction.name):
            continue
        first = index.get(int(target[1], 16))
        if first is not None and first <= number:
            spans.append((first, number))
    innermost = [
        span
        for span in spans
        if not any(other != span and span[0] <= other[0] and other[1] <= span[1] for other in spans)
    ]
    return [Loop(tuple(body[first : last + 1])) for first, last in innermost]


def _use(instruction: Instruction, loop: Loop | None) -> Use:
    name = instruction.name
    if _is_vector_product(name):
        return Use.VECTOR_PRODUCT
    if _WHOLE_REGISTER.match(name):
        # Compilers move whole registers only to and from the stack.
        return Use.SPILL
    if loop and _multiplies_scalars(loop, name):
        return Use.SCALAR_PRODUCT
    return Use.OTHER


def _is_vector_product(name: str) -> bool:
    return bool(_MULTIPLY_ADD.match(name) or _MULTIPLY.match(name))


def _multiplies_scalars(loop: Loop, name: str) -> bool:
    if any(_is_vector_product(other.name) for other in loop.body):
        return False
    if _SCALAR_FLOAT_PRODUCT.match(name):
        return True
    loads = any(_SCALAR_LOAD.match(other.name) for other in loop.body)
    return loads and bool(_SCALAR_INTEGER_PRODUCT.match(name))


def _work(body: list[Instruction]) -> dict[int, float]:
    """Follows the settings of LMUL down the code, as compilers lay it out."""
    lmul, width = 0.0, 8
    work = {}
    for instruction in body:
        name = instruction.name
        if _SETTING.match(name) and (kind := _TYPE.search(instruction.operands)):
            lmul, width = 1 / int(kind[3]) if kind[2] else float(kind[3]), int(kind[1])
        registers = 0.0
        if whole := _WHOLE_REGISTER.match(name):
            registers = float(whole[2])
        elif memory := _MEMORY.match(name):
            registers = lmul * int(memory[1]) / width
        elif name.startswith("v") and not name.startswith("vset"):
            # One side of it is twice as wide.
            registers = 2 * lmul if _WIDE.match(name) else lmul
        work[instruction.address] = registers
    return work
