"""Runs the assembly of bmc's own kernels: a machine that knows the few instructions they use, and no more.

It is stricter than a hart. Registers begin with garbage, elements past the vector length are overwritten, and
these are errors: groups that overlap or begin where the specification forbids it, access outside the operands,
stores to any operand but the result, and scalar registers that are read before they are written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np
from riscv_groups import TAIL, Groups
from riscv_numbers import (
    BINARY,
    CONVERSIONS,
    FIXED_POINT,
    MASKS,
    estimated_reciprocal,
    rounded,
    saturated,
)
from riscv_scalars import Trap

_SIGNED = {8: np.int8, 16: np.int16, 32: np.int32}
_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32}


class Machine(Groups):
    """A hart with vectors, and the operands of one kernel in its memory.

    Attributes:
      executed: how many instructions ran.
    """

    def __init__(
        self, vlen: int, operands: Sequence[np.ndarray[Any, Any]], writable: Set[int]
    ) -> None:
        super().__init__(vlen, operands, writable)
        self.executed = 0

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
        lines = [re.split(r"[ ,()]+", line.strip().rstrip(")")) for line in text.splitlines()]
        labels = {words[0][:-1]: at for at, words in enumerate(lines) if words[0].endswith(":")}
        at = 0
        with np.errstate(all="ignore"):
            while at < len(lines):
                name, *words = lines[at]
                at += 1
                if name.endswith(":"):
                    continue
                self.executed += 1
                if name in ("bnez", "bgeu", "j"):
                    *values, label = words
                    numbers = [self._integer(each) % 2**64 for each in values]
                    if name == "j" or (numbers[0] >= numbers[1] if numbers[1:] else numbers[0]):
                        target, back = labels[label[:-1]], label[-1] == "b"
                        at = self._require(back == (target < at), target, "a label elsewhere")
                elif name == "csrwi":
                    self._rounds = self._require(words == ["vxrm", "0"], words, "a register")
                elif name.startswith("v"):
                    self._vector(name, words)
                else:
                    self._scalar(name, words)
        self.written -= set(arguments)

    def _vector(self, name: str, words: list[str]) -> None:
        if name == "vsetvli":
            _, length, element, group, *policy = words
            known = policy in (["ta", "ma"], ["ta", "mu"])
            self._require(words[0] == "zero" and known, words, "vsetvli")
            self._keeps = policy[1] == "mu"
            self._bits = int(element[1:])
            part = group.startswith("mf")
            self._lmul = Fraction(1, int(group[2:])) if part else Fraction(int(group[1:]))
            self._length = self._integer(length)
            most = self._lmul * self._bytes * 8 // self._bits
            self._require(0 < self._length <= most, self._length, "vector length")
            self._require(
                self._bits <= min(Fraction(1), self._lmul) * 32, words, "LMUL for elements"
            )
            return
        self._require(self._bits, name, "no vsetvli before")
        to = words[0]
        operation, _, kind = name.partition(".")
        self._left_out = None
        if words[-1] == "v0.t":
            known = operation in ("vle8", "vle16", "vle32", "vlse8", "vlse16", "vlse32", "vsext")
            self._require(known or operation.startswith("vlsseg"), name, "mask")
            self._require(to != "v0", words, "overlap")
            self._left_out = ~self._mask()
            words.pop()
        if operation in ("vle8", "vle16", "vle32", "vse8", "vse16", "vse32"):
            self._transfer(operation, to, self._integer(words[1]))
        elif found := re.fullmatch(r"vlsseg([2-8])e8", operation):
            self._segments(int(found[1]), 8, to, self._integer(words[1]), self._integer(words[2]))
        elif found := re.fullmatch(r"vlseg([2-8])e(8|16|32)", operation):
            fields, bits = int(found[1]), int(found[2])
            self._segments(fields, bits, to, self._integer(words[1]), fields * bits // 8)
        elif re.fullmatch(r"v[ls]se(8|16|32)", operation):
            self._apart_in_memory(operation, to, self._integer(words[1]), self._integer(words[2]))
        elif name == "vluxei32.v":
            self._from_table(to, self._integer(words[1]), words[2])
        elif operation in ("vfmacc", "vfmadd", "vfwmacc", "vwmacc"):
            self._multiply(operation, kind, words)
        elif operation == "vsext":
            times = Fraction(1, int(kind[2:]))
            self._apart(to, self._lmul, words[1], self._lmul * times)
            narrow = self._read(words[1], _SIGNED[int(self._bits * times)], times)
            self._write(to, narrow, _SIGNED[self._bits])
        elif name in ("vslide1up.vx", "vslide1down.vx"):
            self._slide(name, *words)
        elif name == "vnsrl.wi":
            self._apart(to, self._lmul, words[1], self._lmul * 2)
            wide = self._read(words[1], _UNSIGNED[self._bits * 2], Fraction(2))
            self._write(
                to, (wide >> int(words[2])).astype(_UNSIGNED[self._bits]), _UNSIGNED[self._bits]
            )
        elif operation == "vnclip":
            self._apart(to, self._lmul, words[1], self._lmul * 2)
            shift = int(words[2]) if kind == "wi" else self._integer(words[2])
            self._require(kind == "wx" or 0 <= shift < 32, words, "shift")
            self._require(self._rounds, name, "no rounding mode")
            wide = self._read(words[1], _SIGNED[self._bits * 2], Fraction(2))
            narrow = saturated(rounded(wide, shift % (2 * self._bits)), _SIGNED[self._bits])
            self._write(to, narrow, _SIGNED[self._bits])
        elif name in ("vlm.v", "vsm.v"):
            memory = self._memory(self._integer(words[1]), -(-self._length // 8), name == "vsm.v")
            register = self._group(to, 1, Fraction(1))
            if name == "vsm.v":
                memory[:] = register[: memory.size]
            else:
                register[:] = TAIL
                register[: memory.size] = memory
        elif name == "vmand.mm":
            one, other = (self._group(each, 1, Fraction(1)) for each in words[1:])
            both = one & other
            self._group(to, 1, Fraction(1))[:] = TAIL
            used = -(-self._length // 8)
            self._group(to, 1, Fraction(1))[:used] = both[:used]
        elif name == "vid.v":
            self._write(to, np.arange(self._length), _SIGNED[self._bits])
        elif name == "vmv.v.i":
            self._require(-16 <= int(words[1]) < 16, words, "no immediate of 5 bits")
            self._write(to, int(words[1]), _SIGNED[self._bits])
        elif name in ("vredsum.vs", "vfredusum.vs"):
            self._add_lanes(words, np.float32 if name[1] == "f" else np.int32)
        elif name == "vwredsum.vs":
            self._add_narrow_lanes(*words)
        elif name == "vwmul.vv":
            for source in words[1:]:
                self._apart(to, self._lmul * 2, source, self._lmul)
            double = _SIGNED[self._bits * 2]
            one, two = (self._read(each, _SIGNED[self._bits]).astype(double) for each in words[1:])
            self._write(to, one * two, double, Fraction(2))
        elif name in ("vmv.x.s", "vfmv.f.s"):
            self.written.add(to)
            first = self._first(words[1], np.float32 if name[1] == "f" else np.int32)[0]
            if name[1] == "f":
                self._floats[to] = first
            else:
                self._integers[to] = int(first)
        elif name == "vmv.s.x":
            register = self._first(to, np.int32)
            register[:] = -1
            register[0] = self._integer(words[1])
        elif name == "vmv.v.x":
            number = np.array([self._integer(words[1])], np.int64).astype(_SIGNED[self._bits])
            self._write(to, number, _SIGNED[self._bits])
        elif name == "vfmv.v.f":
            self._write(to, self._float(words[1]), self._real)
        elif name == "vmv.v.v":
            self._write(to, self._read(words[1], _SIGNED[self._bits]), _SIGNED[self._bits])
        elif name == "vfrec7.v":
            self._write(to, estimated_reciprocal(self._read(words[1], np.float32)), np.float32)
        elif name in CONVERSIONS:
            self._convert(*CONVERSIONS[name], *words)
        elif operation in MASKS:
            self._compare(operation, words)
        elif name == "vadc.vim":
            self._require(words[2] == "0" and words[3] == "v0" and to != "v0", words, "mask")
            carries = self._mask().astype(np.int32)
            self._write(to, self._read(words[1], np.int32) + carries, np.int32)
        elif name in ("vfmerge.vfm", "vmerge.vvm"):
            self._require(words[3] == "v0" and to != "v0", words, "mask")
            is_float = name == "vfmerge.vfm"
            chosen: Any = self._float(words[2]) if is_float else self._read(words[2], self._real)
            values = np.where(self._mask(), chosen, self._read(words[1], self._real))
            self._write(to, values, self._real)
        elif operation in BINARY:
            self._binary(operation, kind, words)
        else:
            raise Trap(f"no instruction {name}")

    def _transfer(self, operation: str, name: str, address: int) -> None:
        bits = int(operation[3:])
        times = Fraction(bits, self._bits)
        size = self._length * bits // 8
        store = operation.startswith("vs")
        self._require(address % (bits // 8) == 0, address, "not aligned")
        if self._left_out is not None:
            self._apart_in_memory(operation, name, address, bits // 8)
            return
        memory = self._memory(address, size, store).view(_SIGNED[bits])
        if store:
            memory[:] = self._read(name, _SIGNED[bits], times)
        else:
            self._write(name, memory, _SIGNED[bits], times)

    def _apart_in_memory(self, operation: str, name: str, address: int, apart: int) -> None:
        """Loads or stores elements with gaps between them."""
        bits = int(operation.lstrip("vles"))
        times = Fraction(bits, self._bits)
        store = operation.startswith("vs")
        places = [address + lane * apart for lane in range(self._length)]
        if self._left_out is not None:
            places = [at for at, out in zip(places, self._left_out, strict=True) if not out]
        self._require(all(place % (bits // 8) == 0 for place in places), address, "not aligned")
        memory = [self._memory(place, bits // 8, store).view(_SIGNED[bits]) for place in places]
        if not store:
            values = np.zeros(self._length, _SIGNED[bits])
            values[... if self._left_out is None else ~self._left_out] = [m[0] for m in memory]
            self._write(name, values, _SIGNED[bits], times)
            return
        for each, value in zip(memory, self._read(name, _SIGNED[bits], times), strict=True):
            each[0] = value

    def _segments(self, fields: int, bits: int, name: str, address: int, apart: int) -> None:
        """Loads neighbors of so many bits into one group each, for places with gaps between them."""
        registers = max(1, int(self._lmul * bits / self._bits))
        last = int(name[1:]) + fields * registers
        self._require(fields * registers <= 8 and last <= 32, name, "a group of segments")
        for field in range(fields):
            group = f"v{int(name[1:]) + field * registers}"
            self._apart_in_memory(f"vlse{bits}", group, address + field * bits // 8, apart)

    def _slide(self, name: str, to: str, source: str, number: str) -> None:
        """Moves all elements by one place, and puts a number into the one that is free then."""
        dtype = _SIGNED[self._bits]
        values = self._read(source, dtype)
        # The bits above those of an element are ignored.
        new = np.array([self._integer(number)], np.int64).astype(dtype)
        if name == "vslide1up.vx":
            self._require(to != source, (to, source), "overlap")
            self._write(to, np.concatenate([new, values[:-1]]), dtype)
        else:
            self._write(to, np.concatenate([values[1:], new]), dtype)

    def _first(self, name: str, dtype: Any) -> np.ndarray[Any, Any]:
        """The elements of 32 bits of one register, of which the first one is a number of its own."""
        self._require(self._bits == 32, name, "element width")
        start = int(name[1:]) * self._bytes
        return self._vectors[start : start + self._bytes].view(dtype)

    def _add_lanes(self, words: list[str], dtype: Any) -> None:
        """Adds a group's elements and the first one of another register."""
        to, group, start = words
        total = self._read(group, dtype).sum() + self._first(start, dtype)[0]
        register = self._first(to, dtype)
        register.view(np.uint8)[:] = TAIL
        register[0] = total

    def _add_narrow_lanes(self, to: str, group: str, start: str) -> None:
        """Adds a group's elements of 16 bits and the first one of 32 bits of another register."""
        self._require(self._bits == 16, self._bits, "element width")
        first = self._vectors[int(start[1:]) * self._bytes :][:4].view(np.int32)[0]
        total = self._read(group, np.int16).sum(dtype=np.int32) + first
        register = self._vectors[int(to[1:]) * self._bytes :][: self._bytes]
        register[:] = TAIL
        register[:4].view(np.int32)[0] = total

    def _from_table(self, name: str, address: int, indices: str) -> None:
        """Loads elements whose distances in bytes from an address are numbers of 32 bits."""
        times, size = Fraction(32, self._bits), self._bits // 8
        if times > 1:
            self._apart(name, self._lmul, indices, self._lmul * times)
        places = self._read(indices, np.int32, times)
        dtype = _SIGNED[self._bits]
        memory = [self._memory(address + int(place), size).view(dtype)[0] for place in places]
        self._write(name, memory, dtype)

    def _multiply(self, operation: str, kind: str, words: list[str]) -> None:
        to, first, second = words
        if operation in ("vfmacc", "vfmadd", "vfwmacc"):
            a = self._float(first) if kind == "vf" else self._read(first, self._real)
            times, added = (to, second) if operation == "vfmadd" else (second, to)
            product = np.float64(a) * self._read(times, self._real).astype(np.float64)
            width, dtype = Fraction(1), self._real
            if operation == "vfwmacc":
                width, dtype = Fraction(2), np.float32
                for source in words[1 + (kind == "vf") :]:
                    self._apart(to, self._lmul * 2, source, self._lmul)
            # A product of two floats is exact as a double.
            sums = self._read(added, dtype, width).astype(np.float64) + product
            self._write(to, sums.astype(dtype), dtype, width)
            return
        wide, double = _SIGNED[self._bits * 2], Fraction(2)
        for source in words[1 + (kind == "vx") :]:
            self._apart(to, self._lmul * 2, source, self._lmul)
        b = self._read(second, _SIGNED[self._bits]).astype(wide)
        factor = (
            wide(self._integer(first))
            if kind == "vx"
            else self._read(first, _SIGNED[self._bits]).astype(wide)
        )
        self._write(to, self._read(to, wide, double) + factor * b, wide, double)

    def _convert(self, source: Any, result: Any, to: str, number: str) -> None:
        """Converts numbers, of which those that are not wider have the current width."""
        reads, writes = (Fraction(8 * np.dtype(t).itemsize, self._bits) for t in (source, result))
        self._require(min(reads, writes) == 1, to, "element width")
        if reads != writes:
            self._apart(to, self._lmul * writes, number, self._lmul * reads)
        self._write(to, self._read(number, source, reads).astype(result), result, writes)

    def _compare(self, name: str, words: list[str]) -> None:
        to, source, limit = words
        dtype: Any = _UNSIGNED[self._bits] if name == "vmsltu" else self._real
        one, other = (
            (self._read(source, dtype), self._float(limit))
            if limit[0] == "f"
            else (self._read(source, dtype), self._read(limit, dtype))
            if limit[0] == "v"
            else (self._read(source, dtype), dtype(self._integer(limit) % 2**self._bits))
        )
        result = np.packbits(MASKS[name](one, other), bitorder="little")
        register = self._group(to, 1, Fraction(1))
        self._apart(to, Fraction(1), source, self._lmul)
        register[:] = TAIL
        register[: result.size] = result

    def _binary(self, operation: str, kind: str, words: list[str]) -> None:
        to, first, second = words
        self._require(self._rounds or operation not in FIXED_POINT, words, "no rounding mode")
        dtype = self._real if operation.startswith("vf") else _SIGNED[self._bits]
        a = self._read(first, dtype)
        b: Any
        if kind == "vv":
            b = self._read(second, dtype)
        elif kind == "vf":
            b = self._float(second)
        elif kind == "vx":
            b = np.array([self._integer(second)], np.int64).astype(dtype)
        else:
            shift = operation in ("vsll", "vsra", "vsrl", "vssra")
            least, most = (0, 32) if shift else (-16, 16)
            forms = shift or operation in ("vadd", "vsadd", "vand", "vor", "vxor", "vrsub")
            self._require(forms and kind == "vi" and least <= int(second) < most, words, operation)
            b = np.array([int(second)], dtype)
        has = {
            "vf": ("vfadd", "vfsub", "vfmul", "vfdiv", "vfmax", "vfmin", "vfrsub", "vfrdiv"),
            "vv": (),
        }.get(kind)
        reversed_ = operation in ("vrsub", "vfrsub", "vfrdiv") and kind == "vv"
        self._require(not reversed_ and (not has or operation in has), words, operation)
        self._write(to, BINARY[operation](a, b), dtype)
