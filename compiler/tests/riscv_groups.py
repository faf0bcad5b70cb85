"""Groups of vector registers on a hart without instructions for them. riscv.py adds these."""

from __future__ import annotations

from collections.abc import Sequence, Set
from fractions import Fraction
from typing import Any

import numpy as np
from riscv_scalars import Scalars

_GARBAGE = 0xA5
# Elements past the vector length; the specification allows all ones.
TAIL = 0xFF


class Groups(Scalars):
    """A hart, and the operands of one kernel in its memory."""

    def __init__(
        self, vlen: int, operands: Sequence[np.ndarray[Any, Any]], writable: Set[int]
    ) -> None:
        super().__init__(operands, writable)
        self._bytes = vlen // 8
        self._vectors = np.full(32 * self._bytes, _GARBAGE, np.uint8)
        self._length = 0
        self._bits = 0
        self._lmul = Fraction(0)
        self._rounds = False
        # Whether lanes that a mask leaves out stay, and which lanes the current instruction leaves out.
        self._keeps = False
        self._left_out: np.ndarray[Any, Any] | None = None

    def _group(self, name: str, bits: int, lmul: Fraction) -> np.ndarray[Any, Any]:
        """All bytes of a group; a part of a register counts as a register."""
        number = int(self._require(name[0] == "v", name, "no vector")[1:])
        count = max(1, int(lmul))
        self._require(number % count == 0 and number + count <= 32, name, "no beginning of a group")
        self._require(self._length * bits <= lmul * self._bytes * 8, name, "group too small")
        self._require(Fraction(1, 8) <= lmul <= 8, lmul, "no LMUL")
        return self._vectors[number * self._bytes : (number + count) * self._bytes]

    def _read(self, name: str, dtype: Any, times: Fraction = Fraction(1)) -> np.ndarray[Any, Any]:
        """The elements of a group whose elements are `times` as wide as the current ones."""
        bits = int(self._bits * times)
        self._require(np.dtype(dtype).itemsize * 8 == bits, dtype, "element width")
        group = self._group(name, bits, self._lmul * times)
        return np.array(group[: self._length * bits // 8].view(dtype))

    def _write(self, name: str, values: Any, dtype: Any, times: Fraction = Fraction(1)) -> None:
        bits = int(self._bits * times)
        self._require(np.dtype(dtype).itemsize * 8 == bits, dtype, "element width")
        group = self._group(name, bits, self._lmul * times)
        before = np.array(group[: self._length * bits // 8].view(dtype))
        group[:] = TAIL
        if self._left_out is not None:
            self._require(self._keeps, name, "a mask that leaves garbage")
            values = np.where(self._left_out, before, values)
        group[: self._length * bits // 8].view(dtype)[:] = values

    @property
    def _real(self) -> Any:
        """The type of floats of the current width."""
        return {16: np.float16, 32: np.float32}[self._bits]

    def _mask(self) -> np.ndarray[Any, Any]:
        """Which lanes v0 has."""
        bits = np.unpackbits(self._vectors[: self._bytes], bitorder="little")
        return bits[: self._length].astype(bool)

    def _apart(self, to: str, wide: Fraction, source: str, narrow: Fraction) -> None:
        """Requires a source of another element width to lie beside the destination, or where it may overlap."""
        start, end = int(to[1:]), int(to[1:]) + max(1, int(wide))
        first, last = int(source[1:]), int(source[1:]) + max(1, int(narrow))
        apart = last <= start or end <= first
        allowed = narrow >= 1 and last == end if wide > narrow else first == start
        self._require(apart or allowed, (to, source), "overlap")
