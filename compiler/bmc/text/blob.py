"""The bytes of tables for the target, and the C that says where each of them is (runtime_bm/text/tables.h)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bmc.text.characters import COUNT

# BM_CODE_POINT_BLOCK.
_BLOCK = 128
# The widest element, a double, is read where it lies.
_ALIGNMENT = 8


class Blob:
    """Bytes that grow; `symbol` is what C calls the first of them."""

    def __init__(self, symbol: str) -> None:
        self._symbol = symbol
        self._bytes = bytearray()

    def data(self) -> bytes:
        return bytes(self._bytes)

    def place(self, data: bytes) -> str:
        """Adds bytes; returns the C expression of their address."""
        self._bytes += bytes(-len(self._bytes) % _ALIGNMENT)
        at = len(self._bytes)
        self._bytes += data
        return f"{self._symbol} + {at}"

    def numbers(self, values: Iterable[int]) -> str:
        """Adds numbers; returns the initializer of a bm_numbers_t."""
        array = np.fromiter(values, np.uint32)
        if not len(array):
            return "{0, 0, 0}"
        width = max(1, (int(array.max()).bit_length() + 7) // 8)
        columns = array.view(np.uint8).reshape(-1, 4)[:, :width]
        return f"{{{self.place(columns.tobytes())}, {len(array)}u, {width}u}}"

    def strings(self, strings: Sequence[bytes]) -> str:
        """Adds strings; returns the initializer of a bm_strings_t."""
        ends = self.numbers(np.cumsum([len(string) for string in strings], dtype=np.int64))
        joined = b"".join(strings)
        return f"{{{ends}, {self.place(joined)}, {len(joined)}u}}"

    def sorted_strings(self, strings: Sequence[bytes], found: Iterable[int]) -> str:
        """Adds strings, of which `found` are looked up; returns the initializer of a bm_sorted_t."""
        # Of equal ones, the first is found.
        first: dict[bytes, int] = {}
        for number in found:
            if strings[number]:
                first.setdefault(strings[number], number)
        order = self.numbers(first[string] for string in sorted(first))
        return f"{{{self.strings(strings)}, {order}}}"

    def code_points(self, values: Mapping[int, int] | NDArray[np.int64]) -> str:
        """Adds a number for each code point, 0 if there is none; returns the initializer of a bm_code_points_t."""
        if isinstance(values, Mapping):
            array = np.zeros(COUNT, np.int64)
            array[list(values)] = list(values.values())
        else:
            array = values
        numbers: dict[bytes, int] = {}
        rows = array.astype(np.uint32).reshape(-1, _BLOCK)
        blocks = [numbers.setdefault(row.tobytes(), len(numbers)) for row in rows]
        # What the last block repeats is left out, if it is the same throughout.
        last = len(blocks)
        if (rows[-1] == rows[-1, 0]).all():
            while last > 1 and blocks[last - 2] == blocks[-1]:
                last -= 1
        values_of_blocks = np.frombuffer(b"".join(numbers), np.uint32)
        return f"{{{self.numbers(blocks[:last])}, {self.numbers(values_of_blocks)}}}"
