"""Tests element types under their names in NumPy, MLIR and IREE."""

from __future__ import annotations

import io
import unittest
from collections.abc import Callable

import numpy as np

from bmc import dtype
from bmc.dtype import DType
from bmc.errors import BmcError


class DTypeTest(unittest.TestCase):
    def test_bytes_are_those_in_storage(self) -> None:
        for element in DType:
            self.assertEqual(element.byte_count, element.numpy.itemsize, element)

    def test_numpy(self) -> None:
        for element in DType:
            self.assertIs(dtype.from_numpy(np.zeros(1, element.numpy)), element)

    def test_bfloat16_in_files(self) -> None:
        numbers = np.array([1.5, -2.0, np.inf]).astype(DType.BF16.numpy)
        with io.BytesIO() as file:
            np.save(file, numbers)
            file.seek(0)
            raw = np.load(file)
        self.assertRaises(BmcError, dtype.from_numpy, raw)
        np.testing.assert_array_equal(dtype.loaded(raw), numbers)
        # Arrays of uint16 are integers. Nothing but a declared type says that they hold bfloat16.
        bits = numbers.view(np.uint16)
        self.assertIs(dtype.loaded(bits), bits)

    def test_floats(self) -> None:
        for element in DType:
            self.assertEqual(dtype.is_float(np.zeros(1, element.numpy)), element.is_float, element)

    def test_mlir(self) -> None:
        for name, element in (
            ("i1", DType.BOOL),
            ("i8", DType.I8),
            ("si8", DType.I8),
            ("ui8", DType.U8),
            ("si16", DType.I16),
            ("ui32", DType.U32),
            ("bf16", DType.BF16),
            ("f64", DType.F64),
        ):
            self.assertIs(dtype.from_mlir(name), element)

    def test_iree(self) -> None:
        for value, element in (
            (0x13000008, DType.BOOL),
            (0x10000008, DType.I8),
            (0x11000020, DType.I32),
            (0x12000040, DType.U64),
            (0x21000010, DType.F16),
            (0x22000010, DType.BF16),
            (0x21000020, DType.F32),
        ):
            self.assertIs(dtype.from_hal(value), element, hex(value))

    def test_other_types_are_named(self) -> None:
        calls: tuple[tuple[Callable[[], DType], str], ...] = (
            (lambda: dtype.from_numpy(np.zeros(1, np.complex64), "x"), "complex64 of x"),
            (lambda: dtype.from_numpy(np.array(["a"], object)), "string"),
            (lambda: dtype.from_mlir("i4"), "i4"),
            (lambda: dtype.from_mlir("f8E4M3FN"), "f8E4M3FN"),
            (lambda: dtype.from_hal(0x23000040), "0x23000040"),
            (lambda: dtype.from_hal(0x10000004), "0x10000004"),
        )
        for call, name in calls:
            with self.assertRaisesRegex(BmcError, rf"element type {name} cannot be used"):
                call()


if __name__ == "__main__":
    unittest.main()
