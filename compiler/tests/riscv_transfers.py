"""Vector loads and stores, on a hart without instructions that compute. riscv.py adds these."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from riscv_groups import SIGNED, TAIL, Groups
from riscv_scalars import Step, Trap


class Transfers(Groups):
    """A hart that loads and stores vectors, and the operands of one kernel in its memory."""

    def _transfer(self, operation: str, to: str, base: str, apart: str = "") -> Step:
        """Decodes a load or store; `apart` is the register of a stride or the indices."""
        if re.fullmatch("v[ls]e(8|16|32)", operation):
            bits = int(operation[3:])
            if self._masked:
                return self._apart_in_memory(operation, to, base, 0, bits // 8)
            return self._neighbors(operation[1] == "s", bits, to, base)
        if re.fullmatch("v[ls]se(8|16|32)", operation):
            return self._apart_in_memory(operation, to, base, 0, apart)
        if found := re.fullmatch("vlsseg([2-8])e8", operation):
            return self._segments(int(found[1]), 8, to, base, apart)
        if found := re.fullmatch("vlseg([2-8])e(8|16|32)", operation):
            fields, bits = int(found[1]), int(found[2])
            return self._segments(fields, bits, to, base, fields * bits // 8)
        if operation in ("vlm", "vsm"):
            return self._bits_of_mask(operation == "vsm", to, base)
        if operation == "vluxei32":
            return self._from_table(to, base, apart)
        raise Trap(f"no instruction {operation}.v")

    def _neighbors(self, store: bool, bits: int, name: str, base: str) -> Step:
        integers, length, dtype = self._integers, self._length, np.dtype(SIGNED[bits])
        if store:
            values = self._read(name, dtype, bits / self._bits)

            def save() -> None:
                self._numbers(integers[base], length, dtype, store=True)[:] = values

            return save
        write = self._write(name, dtype, bits / self._bits)
        return lambda: write(self._numbers(integers[base], length, dtype))

    def _apart_in_memory(
        self, operation: str, name: str, base: str, offset: int, apart: str | int
    ) -> Step:
        """Loads or stores elements with gaps between them, given in bytes or as a register."""
        bits = int(operation.lstrip("vles"))
        dtype = np.dtype(SIGNED[bits])
        lanes = np.arange(self._length)
        masked, integers = self._masked, self._integers

        def places() -> np.ndarray[Any, Any]:
            gap = integers[apart] if isinstance(apart, str) else apart
            every: np.ndarray[Any, Any] = integers[base] + offset + lanes * gap
            return every[self._mask()] if masked else every

        if operation.startswith("vs"):
            source = self._read(name, dtype, bits / self._bits)

            def save() -> None:
                memory, indices = self._scattered(places(), dtype, store=True)
                memory[indices] = source

            return save
        write = self._write(name, dtype, bits / self._bits)

        def load() -> None:
            values = np.zeros(lanes.size, dtype)
            if (found := places()).size:
                memory, indices = self._scattered(found, dtype)
                values[self._mask() if masked else ...] = memory[indices]
            write(values)

        return load

    def _scattered(
        self, places: np.ndarray[Any, Any], dtype: np.dtype[Any], store: bool = False
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Memory from the first to the last of some addresses, as numbers, and where in it they are."""
        size = dtype.itemsize
        first, last = int(places.min()), int(places.max())
        self._require(not (places % size).any(), hex(first), "not aligned")
        return self._numbers(first, (last - first) // size + 1, dtype, store), (
            places - first
        ) // size

    def _segments(self, fields: int, bits: int, name: str, base: str, apart: str | int) -> Step:
        """Loads neighbors of so many bits into one group each, for places with gaps between them."""
        registers = max(1, int(self._lmul * bits / self._bits))
        first = int(name[1:])
        self._require(
            fields * registers <= 8 and first + fields * registers <= 32,
            name,
            "a group of segments",
        )
        steps = [
            self._apart_in_memory(
                f"vlse{bits}", f"v{first + field * registers}", base, field * bits // 8, apart
            )
            for field in range(fields)
        ]

        def step() -> None:
            for each in steps:
                each()

        return step

    def _from_table(self, name: str, base: str, indices: str) -> Step:
        """Loads elements whose distances in bytes from an address are numbers of 32 bits."""
        times, dtype, integers = 32 / self._bits, np.dtype(SIGNED[self._bits]), self._integers
        if times > 1:
            self._apart(name, self._lmul, indices, self._lmul * times)
        distances = self._read(indices, np.int32, times)
        write = self._write(name, dtype)

        def step() -> None:
            memory, found = self._scattered(integers[base] + distances.astype(np.int64), dtype)
            write(memory[found])

        return step

    def _bits_of_mask(self, store: bool, name: str, base: str) -> Step:
        size, integers = -(-self._length // 8), self._integers
        register = self._group(name, 1, 1)

        def save() -> None:
            self._memory(integers[base], size, store=True)[:] = register[:size]

        def load() -> None:
            register[:size] = self._memory(integers[base], size)
            register[size:] = TAIL

        return save if store else load
