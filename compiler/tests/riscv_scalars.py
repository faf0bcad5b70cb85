"""Runs scalar instructions on the operands of a kernel in memory. riscv.py adds the vectors."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

# Between operands, at least.
_GAP = 4096


class Trap(AssertionError):
    """The kernel does what it must not."""


@dataclass(frozen=True)
class _Operand:
    start: int
    data: np.ndarray[Any, Any]


# What loads floats, and their types.
_FLOATS = {"flh": np.float16, "flw": np.float32}


class Scalars:
    """A hart without vectors, and the operands of one kernel in its memory.

    Attributes:
      written: scalar registers that were written, except the arguments.
    """

    def __init__(self, operands: Sequence[np.ndarray[Any, Any]], writable: Set[int]) -> None:
        self._writable = writable
        self._integers: dict[str, int] = {"zero": 0, "x0": 0}
        self._floats: dict[str, np.float32 | np.float16] = {}
        self.written: set[str] = set()
        self._operands: list[_Operand] = []
        start = 0x4000_0000
        for data in operands:
            self._operands.append(_Operand(start, data.reshape(-1).view(np.uint8)))
            start += (data.nbytes // _GAP + 2) * _GAP
        self._arguments = [operand.start for operand in self._operands]

    def pass_in_memory(self, word: int) -> None:
        """Puts the operands' addresses, as words of so many bytes, into a table; its address is the only argument."""
        last = self._operands[-1]
        start = last.start + (last.data.size // _GAP + 2) * _GAP
        table = np.array(self._arguments, np.int64 if word == 8 else np.int32)
        self._operands.append(_Operand(start, table.view(np.uint8)))
        self._arguments = [start]

    def _require(self, condition: Any, value: Any, problem: str) -> Any:
        if not condition:
            raise Trap(f"{problem}: {value}")
        return value

    def _integer(self, name: str) -> int:
        return self._integers[self._require(name in self._integers, name, "read before written")]

    def _float(self, name: str) -> np.float32 | np.float16:
        return self._floats[self._require(name in self._floats, name, "read before written")]

    def _immediate(self, word: str) -> int:
        value = int(word)
        return self._require(-2048 <= value < 2048, value, "no immediate of 12 bits")  # type: ignore[no-any-return]

    def _memory(self, address: int, size: int, store: bool = False) -> np.ndarray[Any, Any]:
        for number, operand in enumerate(self._operands):
            begin = address - operand.start
            if begin >= 0 and begin + size <= operand.data.size:
                self._require(not store or number in self._writable, number, "store to an operand")
                return operand.data[begin : begin + size]
        raise Trap(f"{size} bytes at {address:#x} are in no operand")

    def _scalar(self, name: str, words: list[str]) -> None:
        to, *sources = words
        if name in ("fsw", "sw"):
            value = (
                self._float(to) if name == "fsw" else np.array([self._integer(to)]).astype(np.int32)
            )
            memory = self._memory(
                self._integer(sources[1]) + self._immediate(sources[0]), 4, store=True
            )
            memory.view(np.float32 if name == "fsw" else np.int32)[:] = value
            return
        self.written.add(to)
        self._require(to not in ("zero", "x0"), to, "written")
        if name in ("flh", "flw", "lb", "ld", "lh", "lw"):
            address = self._integer(sources[1]) + self._immediate(sources[0])
            if name in _FLOATS:
                dtype = np.dtype(_FLOATS[name])
                self._require(address % dtype.itemsize == 0, address, "not aligned")
                self._floats[to] = self._memory(address, dtype.itemsize).view(dtype)[0]
            elif name == "lh":
                self._require(address % 2 == 0, address, "not aligned")
                self._integers[to] = int(self._memory(address, 2).view(np.int16)[0])
            elif name == "ld":
                self._require(address % 8 == 0, address, "not aligned")
                self._integers[to] = int(self._memory(address, 8).view(np.int64)[0])
            elif name == "lw":
                self._require(address % 4 == 0, address, "not aligned")
                self._integers[to] = int(self._memory(address, 4).view(np.int32)[0])
            else:
                self._integers[to] = int(self._memory(address, 1).view(np.int8)[0])
        elif name == "fmv.w.x":
            bits = self._integer(sources[0]) & 0xFFFF_FFFF
            self._floats[to] = np.array([bits], np.uint32).view(np.float32)[0]
        elif name == "fmv.h.x":
            bits = self._integer(sources[0]) & 0xFFFF
            self._floats[to] = np.array([bits], np.uint16).view(np.float16)[0]
        elif name == "fcvt.s.h":
            self._floats[to] = np.float32(self._float(sources[0]))
        elif name == "li":
            self._integers[to] = int(sources[0])
        elif name == "mv":
            self._integers[to] = self._integer(sources[0])
        elif name == "add":
            self._integers[to] = self._integer(sources[0]) + self._integer(sources[1])
        elif name == "mul":
            self._integers[to] = self._integer(sources[0]) * self._integer(sources[1])
        elif name == "addi":
            self._integers[to] = self._integer(sources[0]) + self._immediate(sources[1])
        else:
            raise Trap(f"no instruction {name}")
