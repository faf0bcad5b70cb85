"""Scaling in 32 bits gives the same integers as TOSA's scaling in 64 bits."""

from __future__ import annotations

import unittest

import numpy as np
import support

from bmc.rewrites.quantization import rescales

# v = x * 16383 for every int16 x: |v| < 2^29. A factor of 16385 is too large by one step.
_X = np.arange(-(2**15), 2**15, dtype=np.int16)
_FITS, _TOO_LARGE = 16383, 16385
_MULTIPLIERS = (2**30, 2**31 - 1, 1_925_051_689, 1_089_836_696)

_SCALED = """func.func @main(%x: tensor<65536x4xi16>) -> tensor<65536x4x{OUT}> {
  %wide = tosa.cast %x : (tensor<65536x4xi16>) -> tensor<65536x4xi32>
  %factor = "tosa.const"() <{values = dense<{FACTOR}> : tensor<1x1xi32>}> : () -> tensor<1x1xi32>
  %none = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %v = tosa.mul %wide, %factor, %none
    : (tensor<65536x4xi32>, tensor<1x1xi32>, tensor<1xi8>) -> tensor<65536x4xi32>
  %m = "tosa.const"() <{values = dense<{M}> : tensor<{N}xi32>}> : () -> tensor<{N}xi32>
  %s = "tosa.const"() <{values = dense<{S}> : tensor<{N}xi8>}> : () -> tensor<{N}xi8>
  %in = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %out = "tosa.const"() <{values = dense<{ZERO_POINT}> : tensor<1x{OUT}>}> : () -> tensor<1x{OUT}>
  %0 = tosa.rescale %v, %m, %s, %in, %out scale32(true) rounding_mode<{MODE}_ROUND>
      per_channel({PER_CHANNEL}) input_unsigned(false) output_unsigned(false)
    : (tensor<65536x4xi32>, tensor<{N}xi32>, tensor<{N}xi8>, tensor<1xi32>, tensor<1x{OUT}>)
      -> tensor<65536x4x{OUT}>
  return %0 : tensor<65536x4x{OUT}>
}
"""

_CONVOLUTION = """func.func @main(%x: tensor<1x4x4x32xi8>) -> tensor<1x4x4x8xi8> {
  %w = "tosa.const"() <{values = dense<"0x{W}"> : tensor<8x1x1x32xi8>}> : () -> tensor<8x1x1x32xi8>
  %b = "tosa.const"() <{values = dense<"0x{B}"> : tensor<8xi32>}> : () -> tensor<8xi32>
  %xz = "tosa.const"() <{values = dense<-77> : tensor<1xi8>}> : () -> tensor<1xi8>
  %wz = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %v = tosa.conv2d %x, %w, %b, %xz, %wz pad([0, 0, 0, 0]) stride([1, 1]) dilation([1, 1]) acc_type(i32)
    : (tensor<1x4x4x32xi8>, tensor<8x1x1x32xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x8xi32>
  %m = "tosa.const"() <{values = dense<"0x{M}"> : tensor<8xi32>}> : () -> tensor<8xi32>
  %s = "tosa.const"() <{values = dense<"0x{S}"> : tensor<8xi8>}> : () -> tensor<8xi8>
  %in = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %out = "tosa.const"() <{values = dense<5> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.rescale %v, %m, %s, %in, %out scale32(true) rounding_mode<DOUBLE_ROUND>
      per_channel(true) input_unsigned(false) output_unsigned(false)
    : (tensor<1x4x4x8xi32>, tensor<8xi32>, tensor<8xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<1x4x4x8xi8>
  return %0 : tensor<1x4x4x8xi8>
}
"""

_UNSIGNED = """func.func @main(%x: tensor<65536xi16>) -> tensor<65536xi32> {
  %m = arith.constant 1925051689 : i64
  %half = arith.constant 2147483648 : i64
  %s = arith.constant {S} : i64
  %none = tensor.empty() : tensor<65536xi32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<65536xi16>) outs(%none : tensor<65536xi32>) {
  ^bb0(%v: i16, %old: i32):
    %wide = arith.extsi %v : i16 to i64
    %product = arith.muli %wide, %m : i64
    %sum = arith.addi %product, %half : i64
    %shifted = arith.shrui %sum, %s : i64
    %result = arith.trunci %shifted : i64 to i32
    linalg.yield %result : i32
  } -> tensor<65536xi32>
  return %0 : tensor<65536xi32>
}
"""


# Each is twice the one before it.
_DOUBLED = [f"%w{i} = arith.addi %w{i - 1}, %w{i - 1} : i64" for i in range(1, 61)]


def _scale(v: int, m: int, s: int, *, double: bool) -> int:
    """TOSA 1.0's apply_scale_32."""
    rounding = 1 << (s - 1)
    if double and s > 31:
        rounding += 1 << 30 if v >= 0 else -(1 << 30)
    return (v * m + rounding) >> s


def _of_64_bits(text: str) -> str:
    """The lines of operations on 64 bits that are no constants."""
    lines = text.splitlines(keepends=True)
    return "".join(x for x in lines if x.endswith(": i64\n") and "constant" not in x)


class RescalesTest(support.OptimizedTest):
    def check(
        self,
        shifts: tuple[int, ...],
        *,
        double: bool = True,
        factor: int = _FITS,
        out: str = "i32",
        zero_point: int = 0,
    ) -> str:
        """Scales every v by every multiplier; returns the rewritten text."""
        per_channel = len(shifts) > 1
        multipliers = _MULTIPLIERS if per_channel else _MULTIPLIERS[2:3]
        text = _SCALED
        for name, value in {
            "FACTOR": factor,
            "M": list(multipliers),
            "N": len(shifts),
            "S": list(shifts),
            "OUT": out,
            "ZERO_POINT": zero_point,
            "PER_CHANNEL": str(per_channel).lower(),
            "MODE": "DOUBLE" if double else "SINGLE",
        }.items():
            text = text.replace("{" + name + "}", str(value))
        rewritten = self.rewritten(text, rescales.apply)
        columns = [
            [_scale(int(x) * factor, m, s, double=double) + zero_point for x in _X]
            for m, s in zip(multipliers, shifts, strict=True)
        ]
        limits = np.iinfo(np.int8 if out == "i8" else np.int32)
        want = np.broadcast_to(
            np.clip(np.stack(columns, axis=1), limits.min, limits.max), (2**16, 4)
        )
        got = self.run_rewritten(np.repeat(_X[:, None], 4, axis=1))
        np.testing.assert_array_equal(got, want)
        return rewritten

    def assertIs32Bits(self, text: str) -> None:
        """Only products and the shift to their upper half have 64 bits."""
        self.assertNotIn("arith.addi", _of_64_bits(text))
        self.assertIn("arith.muli", _of_64_bits(text))

    def test_double_rounding_of_channels(self) -> None:
        self.assertIs32Bits(self.check((32, 33, 41, 60)))

    def test_double_rounding_of_a_tensor(self) -> None:
        for shift in (32, 38):
            self.assertIs32Bits(self.check((shift,)))

    def test_single_rounding(self) -> None:
        self.assertIs32Bits(self.check((31, 32, 40, 45), double=False))
        self.assertIs32Bits(self.check((36,), double=False))

    def test_shifts_of_both_kinds_of_rounding(self) -> None:
        # 31 rounds once and the others twice, so their difference between signs is not the same.
        text = self.check((31, 32, 33, 34))
        self.assertIn("arith.addi", _of_64_bits(text))

    def test_sums_that_may_be_too_large_are_left_alone(self) -> None:
        text = self.check((40, 41, 42, 43), factor=_TOO_LARGE)
        self.assertIn("arith.addi", _of_64_bits(text))

    def test_a_relu_needs_no_rounding_of_negative_numbers(self) -> None:
        shifts = (45, 46, 47, 50)
        for zero_point, shifted in ((-128, 2), (-127, 3)):
            text = self.check(shifts, out="i8", zero_point=zero_point)
            # The third one is the sign.
            lines = [line for line in text.splitlines() if line.endswith(": i32")]
            self.assertEqual(sum("arith.shrsi" in line for line in lines), shifted)

    def test_shifts_without_sign(self) -> None:
        # IREE makes one of a shift by 32; with a larger one, zeros come into the lowest 32 bits.
        for shift, is_scaled in ((32, True), (40, False)):
            rewritten = self.rewritten(_UNSIGNED.replace("{S}", str(shift)), rescales.apply)
            self.assertEqual("arith.addi" not in _of_64_bits(rewritten), is_scaled)
            products = _X.astype(np.int64) * _MULTIPLIERS[2] + 2**31
            want = (products.view(np.uint64) >> np.uint64(shift)).astype(np.uint32).view(np.int32)
            np.testing.assert_array_equal(self.run_rewritten(_X), want)

    def test_powers_of_two_are_shifts(self) -> None:
        text = """func.func @main(%x: tensor<65536xi16>) -> tensor<65536xi32> {
  %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<20> : tensor<1xi8>}> : () -> tensor<1xi8>
  %in = "tosa.const"() <{values = dense<0> : tensor<1xi16>}> : () -> tensor<1xi16>
  %out = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %0 = tosa.rescale %x, %m, %s, %in, %out scale32(true) rounding_mode<DOUBLE_ROUND>
      per_channel(false) input_unsigned(false) output_unsigned(false)
    : (tensor<65536xi16>, tensor<1xi32>, tensor<1xi8>, tensor<1xi16>, tensor<1xi32>) -> tensor<65536xi32>
  return %0 : tensor<65536xi32>
}
"""
        rewritten = self.rewritten(text, rescales.apply)
        self.assertEqual(_of_64_bits(rewritten), "")
        np.testing.assert_array_equal(self.run_rewritten(_X), _X.astype(np.int32) << 10)

    def test_bodies_that_read_each_value_twice(self) -> None:
        # Each way to the input on its own would be 2^60 ways.
        narrow = [f"%{i} = arith.muli %{i - 1}, %{i - 1} : i32" for i in range(1, 61)]
        for steps, wide in (
            ([*narrow, "%wide = arith.extsi %60 : i32 to i64"], "%wide"),
            (["%w0 = arith.extsi %0 : i32 to i64", *_DOUBLED], "%w60"),
        ):
            steps_text = "\n".join(f"    {step}" for step in steps)
            text = f"""func.func @main(%x: tensor<8xi16>) -> tensor<8xi32> {{
  %none = tensor.empty() : tensor<8xi32>
  %m = arith.constant 1925051689 : i64
  %s = arith.constant 32 : i64
  %made = linalg.generic {{
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}}
      ins(%x : tensor<8xi16>) outs(%none : tensor<8xi32>) {{
  ^element(%e: i16, %old: i32):
    %0 = arith.extsi %e : i16 to i32
{steps_text}
    %product = arith.muli {wide}, %m : i64
    %high = arith.shrsi %product, %s : i64
    %result = arith.trunci %high : i64 to i32
    linalg.yield %result : i32
  }} -> tensor<8xi32>
  return %made : tensor<8xi32>
}}
"""
            self.assertNotEqual(_of_64_bits(self.rewritten(text, rescales.apply)), "")
        # Of 2^60 * m * x, whose product wraps around, nothing was left but its lowest 64 bits.
        products = (_X[:8].astype(np.uint64) << np.uint64(60)) * np.uint64(1_925_051_689)
        want = (products.view(np.int64) >> 32).astype(np.int32)
        np.testing.assert_array_equal(self.run_rewritten(_X[:8]), want)

    def test_bias_and_zero_point_become_one_constant(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.integers(-128, 128, (1, 4, 4, 32)).astype(np.int8)
        w = rng.integers(-128, 128, (8, 1, 1, 32)).astype(np.int8)
        b = rng.integers(-(2**17), 2**17, 8).astype(np.int32)
        m = rng.integers(2**30, 2**31 - 1, 8).astype(np.int32)
        s = rng.integers(40, 44, 8).astype(np.int8)
        text = _CONVOLUTION
        for name, value in (("W", w), ("B", b), ("M", m), ("S", s)):
            text = text.replace("{" + name + "}", value.tobytes().hex())
        rewritten = self.rewritten(text, rescales.apply)
        # What IREE subtracts for the zero point is not used any more.
        folded = b.astype(np.int64) + 77 * w.astype(np.int64).sum(axis=(1, 2, 3))
        self.assertIn(", ".join(map(str, folded)), rewritten)
        sums = (x.astype(np.int64) + 77) @ w[:, 0, 0].astype(np.int64).T + b
        want = [
            [
                _scale(int(v), int(a), int(n), double=True) + 5
                for v, a, n in zip(row, m, s, strict=True)
            ]
            for row in sums.reshape(-1, 8)
        ]
        got = self.run_rewritten(x).reshape(-1, 8)
        np.testing.assert_array_equal(got, np.clip(want, -128, 127))


if __name__ == "__main__":
    unittest.main()
