"""Tests reading constants, however IREE stores them."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import constant_arrays, ir_util

_MODULE = """
module {
  util.global private @weight = dense_resource<bytes> : tensor<2x2xi16>
  util.global private mutable @state = dense<1> : tensor<3xi32>
  util.global private @late : tensor<3xi32>
  func.func @main(%x: tensor<3xi32>) -> TYPE {
    %0 = VALUE : TYPE
    return %0 : TYPE
  }
}
{-# dialect_resources: { builtin: {
  bytes: "0x040000000100feff0300ff7f", floats: "0x040000000000c03f000000c0"
} } #-}
"""

Reader = Callable[[ir_util.Value, Any], Array | None]


class ConstantArraysTest(unittest.TestCase):
    def read(
        self, value: str, type_: str, reader: Reader = constant_arrays.integers
    ) -> Array | None:
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(_MODULE.replace("VALUE", value).replace("TYPE", type_))
            (done,) = ir_util.all_of(module, "func.return")
            return reader(done.operands[0], module)

    def check(self, value: str, type_: str, want: object, dtype: type) -> None:
        got = self.read(value, type_)
        assert got is not None
        self.assertEqual(got.dtype, dtype)
        np.testing.assert_array_equal(got, np.array(want))

    def test_constants(self) -> None:
        self.check("arith.constant dense<[1, -2, 3]>", "tensor<3xi8>", [1, -2, 3], np.int8)
        self.check("arith.constant dense<-7>", "tensor<2x2xi32>", [[-7, -7], [-7, -7]], np.int32)
        self.check("arith.constant -9", "i32", -9, np.int64)

    def test_resources(self) -> None:
        want = [[1, -2], [3, 32767]]
        self.check("arith.constant dense_resource<bytes>", "tensor<2x2xi16>", want, np.int16)
        self.check("util.global.load immutable @weight", "tensor<2x2xi16>", want, np.int16)

    def test_floats(self) -> None:
        for value in ("dense<[1.5, -2.0]>", "dense_resource<floats>"):
            got = self.read(f"arith.constant {value}", "tensor<2xf32>", constant_arrays.numbers)
            assert got is not None
            self.assertEqual((got.dtype, got.tolist()), (np.float32, [1.5, -2.0]))
            self.assertIsNone(self.read(f"arith.constant {value}", "tensor<2xf32>"))
        number = self.read("arith.constant 1.5", "f32", constant_arrays.numbers)
        assert number is not None
        self.assertEqual((number.dtype, number.shape, float(number)), (np.float32, (), 1.5))
        for value, type_ in (("dense<1.0>", "tensor<2xf16>"), ("1.0", "f64")):
            self.assertIsNone(self.read(f"arith.constant {value}", type_, constant_arrays.numbers))

    def test_bits_of_bf16(self) -> None:
        for value, want in (
            ("dense<[1.5, -2.0]>", [0x3FC0, 0xC000]),
            ("dense<[0x7F80, 1.0e-40]>", [0x7F80, 0x0001]),
            ("dense<1.5>", [0x3FC0, 0x3FC0]),
        ):
            got = self.read(
                f"arith.constant {value}", "tensor<2xbf16>", constant_arrays.brain_halves
            )
            assert got is not None
            self.assertEqual((got.dtype, got.tolist()), (np.uint16, want))
        reader = constant_arrays.brain_halves
        self.assertIsNone(self.read("arith.constant dense<1.0>", "tensor<2xf16>", reader))

    def test_what_is_not_constant(self) -> None:
        self.assertIsNone(self.read("util.global.load @state", "tensor<3xi32>"))
        self.assertIsNone(self.read("util.global.load immutable @late", "tensor<3xi32>"))
        self.assertIsNone(self.read("arith.addi %x, %x", "tensor<3xi32>"))
        self.assertIsNone(self.read("arith.constant dense<1.0>", "tensor<3xf32>"))


if __name__ == "__main__":
    unittest.main()
