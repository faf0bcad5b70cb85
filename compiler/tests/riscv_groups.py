"""Groups of vector registers on a hart without instructions for them. riscv.py adds these."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np
from riscv_scalars import Scalars, Step

_GARBAGE = 0xA5
# Elements past the vector length; the specification allows all ones.
TAIL = 0xFF

SIGNED = {8: np.int8, 16: np.int16, 32: np.int32}
UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32}

Write = Callable[[Any], None]


class Groups(Scalars):
    """A hart, and the operands of one kernel in its memory.

    What vsetvli sets is known when an instruction is decoded: each setting has decoded instructions of its own.
    """

    def __init__(
        self, vlen: int, operands: Sequence[np.ndarray[Any, Any]], writable: Set[int]
    ) -> None:
        super().__init__(operands, writable)
        self._bytes = vlen // 8
        self._vectors = np.full(32 * self._bytes, _GARBAGE, np.uint8)
        self._length = 0
        self._bits = 0
        # A power of two, like all ratios of widths.
        self._lmul = 0.0
        self._rounds = False
        # Whether lanes that a mask leaves out stay, and whether the instruction has a mask.
        self._keeps = False
        self._masked = False
        self._lines: list[list[str]] = []
        self._steps: list[Step | None] = []
        self._decoded: dict[tuple[int, int, float, bool], list[Step | None]] = {}

    def _set(self, length: int, bits: int, lmul: float, keeps: bool) -> None:
        """What vsetvli does."""
        setting = length, bits, lmul, keeps
        self._length, self._bits, self._lmul, self._keeps = setting
        if setting not in self._decoded:
            self._decoded[setting] = [None] * len(self._lines)
        self._steps = self._decoded[setting]

    def _group(self, name: str, bits: int, lmul: float) -> np.ndarray[Any, Any]:
        """All bytes of a group; a part of a register counts as a register."""
        number = int(self._require(name[0] == "v", name, "no vector")[1:])
        count = max(1, int(lmul))
        self._require(number % count == 0 and number + count <= 32, name, "no beginning of a group")
        self._require(self._length * bits <= lmul * self._bytes * 8, name, "group too small")
        self._require(1 / 8 <= lmul <= 8, lmul, "no LMUL")
        return self._vectors[number * self._bytes : (number + count) * self._bytes]

    def _parts(
        self, name: str, dtype: Any, times: float
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """A group's elements, which are `times` as wide as the current ones, and the bytes behind them."""
        bits = int(self._bits * times)
        self._require(np.dtype(dtype).itemsize * 8 == bits, dtype, "element width")
        group = self._group(name, bits, self._lmul * times)
        used = self._length * bits // 8
        return group[:used].view(dtype), group[used:]

    def _read(self, name: str, dtype: Any, times: float = 1) -> np.ndarray[Any, Any]:
        """The elements as they are in the registers, so they change with these."""
        return self._parts(name, dtype, times)[0]

    def _write(self, name: str, dtype: Any, times: float = 1) -> Write:
        """Returns what overwrites a group. Its values may be elements of the same group."""
        elements, behind = self._parts(name, dtype, times)
        if self._masked:
            self._require(self._keeps, name, "a mask that leaves garbage")

            def write_some(values: Any) -> None:
                elements[:] = np.where(self._mask(), values, elements)
                behind[:] = TAIL

            return write_some

        def write(values: Any) -> None:
            elements[:] = values
            behind[:] = TAIL

        return write if behind.size else lambda values: elements.__setitem__(..., values)

    @property
    def _real(self) -> Any:
        """The type of floats of the current width."""
        return {16: np.float16, 32: np.float32}[self._bits]

    def _mask(self) -> np.ndarray[Any, Any]:
        """Which lanes v0 has."""
        register = self._vectors[: self._bytes]
        return np.unpackbits(register, count=self._length, bitorder="little").view(bool)

    def _apart(self, to: str, wide: float, source: str, narrow: float) -> None:
        """Requires a source of another element width to lie beside the destination, or where it may overlap."""
        start, end = int(to[1:]), int(to[1:]) + max(1, int(wide))
        first, last = int(source[1:]), int(source[1:]) + max(1, int(narrow))
        apart = last <= start or end <= first
        allowed = narrow >= 1 and last == end if wide > narrow else first == start
        self._require(apart or allowed, (to, source), "overlap")
