"""Vector instructions that move numbers without computing. riscv.py adds those that compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from riscv_groups import SIGNED, TAIL
from riscv_scalars import Step
from riscv_transfers import Transfers


class Moves(Transfers):
    """A hart that moves numbers between registers and memory, and the operands of one kernel in its memory."""

    def _scalar_operand(self, name: str, dtype: Any) -> Callable[[], Any]:
        """An integer of which the lanes see the low bits."""
        integers = self._integers
        return lambda: np.array([integers[name]], np.int64).astype(dtype)

    def _second(self, name: str, dtype: Any) -> Callable[[], Any]:
        """What an instruction reads besides a group: another one, or a scalar register."""
        if name[0] == "v":
            elements = self._read(name, dtype)
            return lambda: elements
        floats = self._floats
        return (lambda: floats[name]) if name[0] == "f" else self._scalar_operand(name, dtype)

    def _copy(self, dtype: Any, to: str, source: str) -> Step:
        """Copies a group, or a scalar into all lanes."""
        values, write = self._second(source, dtype), self._write(to, dtype)
        return lambda: write(values())

    def _immediates(self, to: str, number: str) -> Step:
        value = int(number)
        self._require(-16 <= value < 16, number, "no immediate of 5 bits")
        write = self._write(to, SIGNED[self._bits])
        return lambda: write(value)

    def _numbers_of_lanes(self, to: str) -> Step:
        write, lanes = self._write(to, SIGNED[self._bits]), np.arange(self._length)
        return lambda: write(lanes)

    def _slide(self, up: bool, to: str, source: str, number: str) -> Step:
        """Moves all elements by one place, and puts a number into the one that is free then."""
        dtype = SIGNED[self._bits]
        self._require(not up or to != source, (to, source), "overlap")
        values, write = self._read(source, dtype), self._write(to, dtype)
        new = self._scalar_operand(number, dtype)
        if up:
            return lambda: write(np.concatenate([new(), values[:-1]]))
        return lambda: write(np.concatenate([values[1:], new()]))

    def _and_masks(self, to: str, *sources: str) -> Step:
        one, other = (self._group(each, 1, 1) for each in sources)
        register, used = self._group(to, 1, 1), -(-self._length // 8)

        def step() -> None:
            register[:used] = one[:used] & other[:used]
            register[used:] = TAIL

        return step

    def _merge(self, name: str, to: str, first: str, second: str, mask: str) -> Step:
        self._require(mask == "v0" and to != "v0", mask, "mask")
        self._require((name == "vfmerge.vfm") == (second[0] == "f"), second, name)
        real = self._real
        one, other, write = (
            self._read(first, real),
            self._second(second, real),
            self._write(to, real),
        )
        return lambda: write(np.where(self._mask(), other(), one))

    def _first(self, name: str, dtype: Any) -> np.ndarray[Any, Any]:
        """The elements of 32 bits of one register, of which the first one is a number of its own."""
        self._require(self._bits == 32, name, "element width")
        start = int(name[1:]) * self._bytes
        return self._vectors[start : start + self._bytes].view(dtype)

    def _first_number(self, is_float: bool, to: str, source: str) -> Step:
        self.written.add(to)
        elements = self._first(source, np.float32 if is_float else np.int32)
        if is_float:
            return lambda: self._floats.__setitem__(to, elements[0])
        return lambda: self._integers.__setitem__(to, int(elements[0]))

    def _put_first(self, to: str, number: str) -> Step:
        register, integers = self._first(to, np.int32), self._integers

        def step() -> None:
            register[:] = -1
            register[0] = integers[number]

        return step
