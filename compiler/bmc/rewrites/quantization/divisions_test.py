"""A quantization that multiplies gives the same bits as one that divides."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import quantization_case
import support

from bmc.dtype import Array
from bmc.rewrites.quantization import divisions, rounding

_QUANTIZED = """func.func @f(%x: f32) -> i8 {
  %scale = arith.constant SCALE : f32
  %low = arith.constant -1.280000e+02 : f32
  %high = arith.constant 1.270000e+02 : f32
  %0 = arith.divf %x, %scale : f32
  %1 = math.roundeven %0 : f32
  %2 = arith.maxnumf %1, %low : f32
  %3 = arith.minnumf %2, %high : f32
  %4 = arith.fptosi %3 : f32 to i8
  return %4 : i8
}
"""
_ADDED = """func.func @f(%x: f32) -> f32 {
  %scale = arith.constant 0.1 : f32
  %low = arith.constant -1.280000e+02 : f32
  %high = arith.constant HIGH : f32
  %magic = arith.constant MAGIC : f32
  %0 = arith.divf %x, %scale : f32
  %1 = arith.maxnumf %0, %low : f32
  %2 = arith.minnumf %1, %high : f32
  %3 = arith.addf %2, %magic : f32
  return %3 : f32
}
"""


def _multiply_add(a: Array, b: Any, c: Array) -> Array:
    """Returns a * b + c in f32, rounded once."""
    product = a.astype(np.longdouble) * b
    total = product + c
    # What the sum has lost only matters if it is in the middle between two floats.
    lost = (c - (total - product)) + (product - (total - (total - product)))
    ends = np.copysign(np.longdouble(np.inf), lost)
    result: Array = np.where(lost == 0, total, np.nextafter(total, ends)).astype(np.float32)
    return result


class DivisionsTest(quantization_case.QuantizationTest):
    rewrites = (rounding.apply, divisions.apply)
    leaves = ("math.roundeven", "arith.divf")

    def test_symmetric(self) -> None:
        self.check(0, -127, 127)

    def test_zero_points_and_scales(self) -> None:
        self.check(-77, -128, 127, 0.028925065)
        self.check(127, -128, 127, 3e-7)
        self.check(-128, -128, 127, 1.9999999)

    def test_every_quotient_is_rounded_right(self) -> None:
        """Every 31st significand of x, with numbers of more bits than the sums have."""
        x = np.arange(2**23, 2**24, 31, dtype=np.int32).astype(np.float32) * np.float32(2.0**-20)
        off = 0
        for bits in (0x3F800001, 0x3FFFFFFF, 0x3D5DCC64, 0x3CECF3A5, 0x34A10FB0):
            scale = np.array(bits, np.int32).view(np.float32)[()]
            inverse = np.float32(1) / scale
            quotient = x * inverse
            rest = _multiply_add(quotient, -scale, x)
            result = _multiply_add(rest, inverse, quotient)
            np.testing.assert_array_equal(result, x / scale)
            off += int((quotient != x / scale).sum())
        # What one multiplication alone gives.
        self.assertGreater(off, 10_000)

    def test_limits_are_the_last_that_a_clamp_leaves_alone(self) -> None:
        for scale in map(np.float32, (0.1, 0.028925065, 1.9999999, 3e-7)):
            for bound in map(np.float32, (-132, -1, 1, 123)):
                x = divisions.limit("arith.maxnumf", bound, scale)
                self.assertGreaterEqual(x / scale, bound)
                self.assertLess(np.nextafter(x, np.float32(-np.inf)) / scale, bound)
                x = divisions.limit("arith.minnumf", bound, scale)
                self.assertLessEqual(x / scale, bound)
                self.assertGreater(np.nextafter(x, np.float32(np.inf)) / scale, bound)
            self.assertEqual(divisions.limit("arith.maxnumf", np.float32(0), scale), 0)

    def test_only_scales_that_neither_underflow_nor_overflow(self) -> None:
        for scale, divides in (
            ("0.1", False),
            ("1.0e-20", True),
            ("1.0e+20", True),
            ("-0.1", True),
        ):
            text = support.rewritten(_QUANTIZED.replace("SCALE", scale), *self.rewrites)
            self.assertEqual("divf" in text, divides, scale)

    def test_only_integers_as_bounds_and_before_the_addition_that_rounds(self) -> None:
        for high, magic, divides in (
            ("127.0", "12582912.0", False),
            ("1.5", "12582912.0", True),
            ("1.0e+9", "12582912.0", True),
            ("127.0", "1.0", True),
        ):
            text = _ADDED.replace("HIGH", high).replace("MAGIC", magic)
            text = support.rewritten(text, divisions.apply)
            self.assertEqual("divf" in text, divides, (high, magic))
        doubles = _ADDED.replace("HIGH", "127.0").replace("MAGIC", "12582912.0")
        text = support.rewritten(doubles.replace("f32", "f64"), divisions.apply)
        self.assertIn("divf", text)
        one_sided = _ADDED.replace("maxnumf", "minnumf").replace("HIGH", "127.0")
        text = support.rewritten(one_sided.replace("MAGIC", "12582912.0"), divisions.apply)
        self.assertIn("divf", text)


if __name__ == "__main__":
    unittest.main()
