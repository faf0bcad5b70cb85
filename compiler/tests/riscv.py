"""Runs the assembly of bmc's own kernels: a machine that knows the few instructions they use, and no more.

It is stricter than a hart. Registers begin with garbage, elements past the vector length are overwritten, and
these are errors: groups that overlap or begin where the specification forbids it, access outside the operands,
stores to any operand but the result, and scalar registers that are read before they are written.

It decodes an instruction when it first runs, and again for each setting of vsetvli. What depends on no number
in a register is checked then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import ml_dtypes
import numpy as np
from riscv_groups import SIGNED, TAIL, UNSIGNED
from riscv_moves import Moves
from riscv_numbers import (
    BINARY,
    CONVERSIONS,
    FIXED_POINT,
    MASKS,
    estimated_reciprocal,
    rounded,
    saturated,
)
from riscv_scalars import Step, Trap

# Instructions that may have a mask: loads of these, and sign extensions.
_MASKED = re.compile("vl(e|se)(8|16|32)|vlsseg[2-8]e8|vsext")


class Machine(Moves):
    """A hart with vectors, and the operands of one kernel in its memory.

    Attributes:
      executed: how many instructions ran.
    """

    executed = 0

    def run(
        self,
        text: str,
        arguments: Sequence[str],
        moved: Sequence[int] = (),
        firsts: Sequence[int] = (),
    ) -> None:
        """Runs a kernel.

        Args:
          text: its instructions.
          arguments: registers with the operands' addresses, and those with `firsts`.
          moved: bytes that are added to the first addresses.
          firsts: what a piece of a kernel is told about where it begins.
        """
        addresses = [
            address + distance
            for address, distance in zip_longest(self._arguments, moved, fillvalue=0)
        ]
        for name, value in zip(arguments, [*addresses, *firsts], strict=True):
            self._integers[name] = value
        self._load_text(text)
        at = 0
        with np.errstate(all="ignore"):
            while at < len(self._lines):
                step = self._steps[at]
                if step is None:
                    step = self._steps[at] = self._decode(at)
                self.executed += self._instructions(self._lines[at])
                target = step()
                at = at + 1 if target is None else target
        self.written -= set(arguments)

    def _load_text(self, text: str) -> None:
        self._lines, self._labels = [], dict[str, int]()
        for line in text.splitlines():
            words = re.split(r"[ ,()]+", line.strip().rstrip(")"))
            if words[0].endswith(":"):
                self._labels[words[0][:-1]] = len(self._lines)
            else:
                self._lines.append(words)
        self._decoded = {}
        self._set(self._length, self._bits, self._lmul, self._keeps)

    def _instructions(self, words: list[str]) -> int:
        """Returns how many instructions the assembler makes of a line: two of most constants of more than 12 bits."""
        return 1 + (
            words[0] == "li" and int(words[2]) + 2048 >> 12 != 0 and int(words[2]) % 4096 != 0
        )

    def _decode(self, at: int) -> Step:
        name, *words = self._lines[at]
        if name in ("bnez", "bgeu", "j"):
            return self._jump(at, name, words)
        if name == "csrwi":
            self._require(words == ["vxrm", "0"], words, "a register")
            self._rounds = True
            return lambda: None
        if name == "vsetvli":
            return self._vsetvli(*words)
        if name.startswith("v"):
            self._require(self._bits, name, "no vsetvli before")
            return self._vector(name, words)
        return self._scalar(name, words)

    def _jump(self, at: int, name: str, words: list[str]) -> Step:
        *values, label = words
        target = self._labels[label[:-1]]
        self._require((label[-1] == "b") == (target <= at), label, "a label elsewhere")
        integers = self._integers
        if name == "j":
            return lambda: target
        one = values[0]
        if name == "bnez":
            return lambda: target if integers[one] % 2**64 else None
        other = values[1]
        return lambda: target if integers[one] % 2**64 >= integers[other] % 2**64 else None

    def _vsetvli(self, to: str, length: str, element: str, group: str, *policy: str) -> Step:
        known = policy in (("ta", "ma"), ("ta", "mu"))
        self._require(to == "zero" and known, policy, "vsetvli")
        keeps, bits = policy[1] == "mu", int(element[1:])
        lmul = 1 / int(group[2:]) if group.startswith("mf") else float(group[1:])
        self._require(bits <= min(1, lmul) * 32, group, "LMUL for elements")
        most = lmul * self._bytes * 8 // bits
        integers = self._integers

        def step() -> None:
            number = integers[length]
            self._require(0 < number <= most, number, "vector length")
            self._set(number, bits, lmul, keeps)

        return step

    def _vector(self, name: str, words: list[str]) -> Step:
        """Decodes a vector instruction that is not vsetvli."""
        operation, _, kind = name.partition(".")
        self._masked = words[-1] == "v0.t"
        if self._masked:
            self._require(_MASKED.fullmatch(operation), name, "mask")
            self._require(words[0] != "v0", words, "overlap")
            words = words[:-1]
        if operation[:2] in ("vl", "vs") and kind == "v":
            return self._transfer(operation, *words)
        if operation in ("vfmacc", "vfmadd", "vfwmacc", "vfwmaccbf16"):
            return self._multiply_floats(operation, kind, *words)
        if operation == "vwmacc":
            return self._multiply(kind, *words)
        if operation in MASKS:
            return self._compare(operation, kind, *words)
        if operation in BINARY:
            return self._binary(operation, kind, *words)
        if name in CONVERSIONS:
            return self._convert(*CONVERSIONS[name], *words)
        if operation == "vnclip":
            return self._clip(kind, *words)
        if name in ("vredsum.vs", "vfredusum.vs"):
            return self._add_lanes(np.float32 if name[1] == "f" else np.int32, *words)
        if name in ("vmv.x.s", "vfmv.f.s"):
            return self._first_number(name[1] == "f", *words)
        if name in ("vfmerge.vfm", "vmerge.vvm"):
            return self._merge(name, *words)
        if operation in ("vsext", "vzext"):
            return self._extend(operation, 1 / int(kind[2:]), *words)
        if name in ("vslide1up.vx", "vslide1down.vx"):
            return self._slide(name == "vslide1up.vx", *words)
        if name in ("vmv.v.x", "vmv.v.v", "vfmv.v.f"):
            return self._copy(self._real if name[1] == "f" else SIGNED[self._bits], *words)
        others: dict[str, Callable[..., Step]] = {
            "vadc.vim": self._add_carries,
            "vfrec7.v": self._reciprocals,
            "vid.v": self._numbers_of_lanes,
            "vmand.mm": self._and_masks,
            "vmv.s.x": self._put_first,
            "vmv.v.i": self._immediates,
            "vnsrl.wi": self._narrow,
            "vwmul.vv": self._product,
            "vwredsum.vs": self._add_narrow_lanes,
        }
        if name in others:
            return others[name](*words)
        raise Trap(f"no instruction {name}")

    def _extend(self, operation: str, times: float, to: str, source: str) -> Step:
        types = SIGNED if operation == "vsext" else UNSIGNED
        self._apart(to, self._lmul, source, self._lmul * times)
        narrow = self._read(source, types[int(self._bits * times)], times)
        write = self._write(to, types[self._bits])
        return lambda: write(narrow)

    def _narrow(self, to: str, source: str, shift: str) -> Step:
        self._apart(to, self._lmul, source, self._lmul * 2)
        wide, narrow = self._read(source, UNSIGNED[self._bits * 2], 2), UNSIGNED[self._bits]
        write, count = self._write(to, narrow), int(shift)
        return lambda: write((wide >> count).astype(narrow))

    def _clip(self, kind: str, to: str, source: str, shift: str) -> Step:
        self._require(self._rounds, kind, "no rounding mode")
        self._apart(to, self._lmul, source, self._lmul * 2)
        wide, narrow = self._read(source, SIGNED[self._bits * 2], 2), SIGNED[self._bits]
        write, bits, integers = self._write(to, narrow), 2 * self._bits, self._integers
        count = int(shift) if kind == "wi" else None
        self._require(count is None or 0 <= count < 32, shift, "shift")

        def step() -> None:
            places = integers[shift] if count is None else count
            write(saturated(rounded(wide, places % bits), narrow))

        return step

    def _reciprocals(self, to: str, source: str) -> Step:
        values, write = self._read(source, np.float32), self._write(to, np.float32)
        return lambda: write(estimated_reciprocal(values))

    def _product(self, to: str, *sources: str) -> Step:
        for source in sources:
            self._apart(to, self._lmul * 2, source, self._lmul)
        double = SIGNED[self._bits * 2]
        one, two = (self._read(each, SIGNED[self._bits]) for each in sources)
        write = self._write(to, double, 2)
        return lambda: write(np.multiply(one, two, dtype=double))

    def _add_lanes(self, dtype: Any, to: str, group: str, start: str) -> Step:
        """Adds a group's elements and the first one of another register."""
        values, first, register = (
            self._read(group, dtype),
            self._first(start, dtype),
            self._first(to, dtype),
        )

        def step() -> None:
            total = values.sum() + first[0]
            register.view(np.uint8)[:] = TAIL
            register[0] = total

        return step

    def _add_narrow_lanes(self, to: str, group: str, start: str) -> Step:
        """Adds a group's elements of 16 bits and the first one of 32 bits of another register."""
        self._require(self._bits == 16, self._bits, "element width")
        values = self._read(group, np.int16)
        first = self._vectors[int(start[1:]) * self._bytes :][:4].view(np.int32)
        register = self._vectors[int(to[1:]) * self._bytes :][: self._bytes]

        def step() -> None:
            total = values.sum(dtype=np.int32) + first[0]
            register[:] = TAIL
            register[:4].view(np.int32)[0] = total

        return step

    def _multiply_floats(self, operation: str, kind: str, to: str, first: str, second: str) -> Step:
        """The product of two floats is exact as a double."""
        dtype, real, times, floats, double = self._real, self._real, 1, self._floats, np.float64
        is_brain = operation == "vfwmaccbf16"
        if operation == "vfwmacc" or is_brain:
            dtype, times, real = np.float32, 2, ml_dtypes.bfloat16 if is_brain else real
            for source in (first, second)[kind == "vf" :]:
                self._apart(to, self._lmul * 2, source, self._lmul)
        factor, added = (to, second) if operation == "vfmadd" else (second, to)
        b, c = self._read(factor, real), self._read(added, dtype, times)
        write = self._write(to, dtype, times)
        if kind == "vf":
            return lambda: write(c + double(floats[first].view(real)) * b.astype(double))
        a = self._read(first, real)
        return lambda: write(c + a.astype(double) * b.astype(double))

    def _multiply(self, kind: str, to: str, first: str, second: str) -> Step:
        """Adds products in twice the width."""
        wide: Any = SIGNED[self._bits * 2]
        for source in (first, second)[kind == "vx" :]:
            self._apart(to, self._lmul * 2, source, self._lmul)
        b, sums, integers = (
            self._read(second, SIGNED[self._bits]),
            self._read(to, wide, 2),
            self._integers,
        )
        write = self._write(to, wide, 2)
        if kind == "vx":
            return lambda: write(sums + np.multiply(b, wide(integers[first]), dtype=wide))
        a = self._read(first, SIGNED[self._bits])
        return lambda: write(sums + np.multiply(a, b, dtype=wide))

    def _convert(self, source: Any, result: Any, to: str, number: str) -> Step:
        """Converts numbers, of which those that are not wider have the current width."""
        reads, writes = (8 * np.dtype(each).itemsize / self._bits for each in (source, result))
        self._require(min(reads, writes) == 1, to, "element width")
        if reads != writes:
            self._apart(to, self._lmul * writes, number, self._lmul * reads)
        values, write = self._read(number, source, reads), self._write(to, result, writes)
        return lambda: write(values.astype(result))

    def _compare(self, operation: str, kind: str, to: str, source: str, limit: str) -> Step:
        integers = {"vmsltu": UNSIGNED, "vmsgt": SIGNED}.get(operation)
        dtype: Any = integers[self._bits] if integers else self._real
        self._require((kind == "vi") == (operation == "vmsgt"), operation, kind)
        one, compare = self._read(source, dtype), MASKS[operation]
        register = self._group(to, 1, 1)
        self._apart(to, 1, source, self._lmul)
        if kind == "vi":
            number = self._small(operation, int(limit), dtype)
        other = (lambda: number) if kind == "vi" else self._second(limit, dtype)

        def step() -> None:
            result = np.packbits(compare(one, other()), bitorder="little")
            register[: result.size] = result
            register[result.size :] = TAIL

        return step

    def _add_carries(self, to: str, source: str, number: str, mask: str) -> Step:
        self._require(number == "0" and mask == "v0" and to != "v0", mask, "mask")
        values, write = self._read(source, np.int32), self._write(to, np.int32)
        return lambda: write(values + self._mask().astype(np.int32))

    def _binary(self, operation: str, kind: str, to: str, first: str, second: str) -> Step:
        self._require(self._rounds or operation not in FIXED_POINT, to, "no rounding mode")
        has = {
            "vf": ("vfadd", "vfsub", "vfmul", "vfdiv", "vfmax", "vfmin", "vfrsub", "vfrdiv"),
            "vv": (),
        }.get(kind)
        reversed_ = operation in ("vrsub", "vfrsub", "vfrdiv") and kind == "vv"
        self._require(not reversed_ and (not has or operation in has), operation, kind)
        dtype = self._real if operation.startswith("vf") else SIGNED[self._bits]
        a, write, compute = self._read(first, dtype), self._write(to, dtype), BINARY[operation]
        if kind == "vi":
            number = self._small(operation, int(second), dtype)
            return lambda: write(compute(a, number))
        self._require(kind == f"v{second[0] if second[0] in 'vf' else 'x'}", second, kind)
        b = self._second(second, dtype)
        return lambda: write(compute(a, b()))

    def _small(self, operation: str, value: int, dtype: Any) -> np.ndarray[Any, Any]:
        """An immediate."""
        shift = operation in ("vsll", "vsra", "vsrl", "vssra")
        least, most = (0, 32) if shift else (-16, 16)
        forms = shift or operation in ("vadd", "vsadd", "vand", "vor", "vxor", "vrsub", "vmsgt")
        self._require(forms and least <= value < most, value, operation)
        return np.array([value], dtype)
