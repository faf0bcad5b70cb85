"""Runs scalar instructions on the operands of a kernel in memory. riscv.py adds the vectors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

# Between operands, at least.
_GAP = 4096

# Runs an instruction that is decoded; returns the line to go on with, None for the next one.
Step = Callable[[], int | None]


class Trap(AssertionError):
    """The kernel does what it must not."""


class _Registers(dict[str, Any]):
    """What is in the registers that were written."""

    def __missing__(self, name: str) -> Any:
        raise Trap(f"read before written: {name}")


@dataclass(frozen=True)
class _Operand:
    start: int
    data: np.ndarray[Any, Any]


_LOADS: dict[str, Any] = {
    "flh": np.float16, "flw": np.float32, "lb": np.int8, "lh": np.int16, "lw": np.int32, "ld": np.int64,
}  # fmt: skip
_STORES: dict[str, Any] = {"fsw": np.float32, "sw": np.int32}
# They move an integer's bits: the types before and after.
_MOVES: dict[str, Any] = {"fmv.h.x": (np.uint16, np.float16), "fmv.w.x": (np.uint32, np.float32)}
_SUMS: dict[str, Any] = {"add": operator.add, "mul": operator.mul}


class Scalars:
    """A hart without vectors, and the operands of one kernel in its memory.

    Attributes:
      written: scalar registers that were written, except the arguments.
    """

    def __init__(self, operands: Sequence[np.ndarray[Any, Any]], writable: Set[int]) -> None:
        self._writable = writable
        self._integers = _Registers(zero=0, x0=0)
        self._floats = _Registers()
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

    def _numbers(
        self, address: int, count: int, dtype: np.dtype[Any], store: bool = False
    ) -> np.ndarray[Any, Any]:
        """So many numbers in memory."""
        if address % dtype.itemsize:
            raise Trap(f"not aligned: {address:#x}")
        return self._memory(address, count * dtype.itemsize, store).view(dtype)

    def _scalar(self, name: str, words: list[str]) -> Step:
        """Decodes an instruction."""
        to, *sources = words
        if name in _STORES:
            return self._store(np.dtype(_STORES[name]), *words)
        self.written.add(to)
        self._require(to not in ("zero", "x0"), to, "written")
        compute = self._computation(name, sources)
        registers = self._floats if name[0] == "f" else self._integers

        def step() -> None:
            registers[to] = compute()

        return step

    def _store(self, dtype: np.dtype[Any], value: str, offset: str, base: str) -> Step:
        registers = self._floats if dtype == np.float32 else self._integers
        distance = self._immediate(offset)

        def step() -> None:
            number = np.array([registers[value]]).astype(dtype)
            self._numbers(self._integers[base] + distance, 1, dtype, store=True)[:] = number

        return step

    def _computation(self, name: str, sources: list[str]) -> Callable[[], Any]:
        integers, floats = self._integers, self._floats
        one = sources[0]
        if name in _LOADS:
            offset, base, dtype = self._immediate(one), sources[1], np.dtype(_LOADS[name])
            if name[0] == "f":
                return lambda: self._numbers(integers[base] + offset, 1, dtype)[0]
            return lambda: int(self._numbers(integers[base] + offset, 1, dtype)[0])
        if name == "li":
            number = int(one)
            return lambda: number
        if name == "mv":
            return lambda: integers[one]
        if name == "addi":
            added = self._immediate(sources[1])
            return lambda: integers[one] + added
        if name in _SUMS:
            compute, two = _SUMS[name], sources[1]
            return lambda: compute(integers[one], integers[two])
        if name == "fmul.s":
            two = sources[1]
            return lambda: np.float32(floats[one] * floats[two])
        if name == "fcvt.s.w":
            return lambda: np.float32(integers[one])
        if name == "fcvt.s.h":
            return lambda: np.float32(floats[one])
        if name == "fcvt.s.bf16":
            return lambda: np.float32(floats[one].view(ml_dtypes.bfloat16))
        if name in _MOVES:
            before, after = _MOVES[name]
            mask = np.iinfo(before).max
            return lambda: np.array([integers[one] & mask], before).view(after)[0]
        raise Trap(f"no instruction {name}")
