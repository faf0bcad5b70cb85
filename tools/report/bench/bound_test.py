"""The bound of docs/performance.md, computed by hand."""

from __future__ import annotations

import unittest

from blank import blank

from bmc.report import Command, Dispatch, Operand
from tools.report.bench import bound

DISPATCH, FILL = (blank(Command, kind=kind, bytes=1024) for kind in ("dispatch", "fill"))


def dispatch(op: str, macs: int, accumulator: str = "f32", dtype: str = "i8") -> Dispatch:
    operands = (
        blank(Operand, dtype=dtype, shape=(4, 64)),
        blank(Operand, dtype="f32", shape=None),
    )
    return blank(Dispatch, op=op, macs=macs, accumulator=accumulator, operands=operands)


class BoundTest(unittest.TestCase):
    def test_products(self) -> None:
        # 64 lanes of 32 bits in eight registers of 256: 7 instructions for 3 x 64 products.
        self.assertAlmostEqual(bound.of_products(192_000, "f32", 256), 7000)
        self.assertAlmostEqual(bound.of_products(192_000, "i32", 256), 7000)
        self.assertAlmostEqual(bound.of_products(192_000, "f32", 1024), 7000 / 4)
        self.assertAlmostEqual(bound.of_products(192_000, "f16", 256), 7000 / 2)
        self.assertAlmostEqual(bound.of_products(1, "f32", 256), 0.0365, places=4)

    def test_more_products_or_wider_sums_never_cost_less(self) -> None:
        self.assertGreater(bound.of_products(2, "f32", 256), bound.of_products(1, "f32", 256))
        self.assertGreater(bound.of_products(1, "f64", 256), bound.of_products(1, "f32", 256))

    def test_bytes(self) -> None:
        self.assertEqual(bound.of_command(FILL, None, 256), 4)
        self.assertEqual(bound.of_command(DISPATCH, dispatch("x", 0), 256), 1)
        wide = dispatch("x", 0, dtype="f32")
        self.assertEqual(bound.of_command(DISPATCH, wide, 256), 4)

    def test_products_count_before_bytes(self) -> None:
        found = bound.of_command(DISPATCH, dispatch("matmul_4x4x4_f32", 192), 256)
        self.assertAlmostEqual(found, 7)

    def test_classes(self) -> None:
        for op, macs, wanted in (
            ("conv_32x32x16x3x3x3_i8xi8xi32", 9, "convolution of 4 channels or fewer"),
            ("conv_32x32x16x3x3x16_f32", 9, "convolution 3x3"),
            ("conv_48x48x8x3x3_f32", 9, "depthwise convolution"),
            ("conv_17x17x224x7x192_i8xi8xi32", 9, "convolution along one axis"),
            ("conv_48x48x8x2x2_f32", 0, "pooling"),
            ("matmul_like_8x8x64x32_i8xi8xi32", 9, "matrix product"),
            ("batch_matmul_48x32x32x32_f32", 9, "matrix product"),
            ("vecmat_256x64_f32", 9, "matrix times vector"),
            ("softmax_8x8xf32_dispatch_tensor_store", 0, "softmax"),
        ):
            with self.subTest(op):
                self.assertEqual(bound.class_of(DISPATCH, dispatch(op, macs)), wanted)
        self.assertEqual(bound.class_of(FILL, None), "fill")


if __name__ == "__main__":
    unittest.main()
