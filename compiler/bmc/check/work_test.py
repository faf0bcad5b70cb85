"""Tests what is read from IREE's kernels, and the estimates that follow, where the numbers are obvious."""

from __future__ import annotations

import tempfile
import unittest
from collections import Counter
from dataclasses import replace
from pathlib import Path

import support

from bmc import target
from bmc.artifacts import ImportedModel
from bmc.check import estimate, work
from bmc.check.work import Work

_RV64 = target.find("rv64gcv_zvl256b")
_WORK = Work(
    macs=10**6,
    weight_bytes=50_000,
    widened_bytes=8_000,
    arena_bytes=4_096,
    dispatches=10,
    kernels=5,
    counts=Counter({"dense_i": 10**6, "results": 10**4}),
)
_IMAGE_BYTES = 16 * 16 * 32 * 4
_PADDED_BYTES = 18 * 18 * 32 * 4
_CONVOLUTION = """func.func @main(%x: tensor<1x16x16x32xf32>) -> tensor<1x8x8x8xf32> {
  %w = stablehlo.constant dense<1.5> : tensor<3x3x32x8xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x16x16x32xf32>, tensor<3x3x32x8xf32>) -> tensor<1x8x8x8xf32>
  return %0 : tensor<1x8x8x8xf32>
}
"""


class WorkTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def model(self, text: str = support.MATMUL) -> ImportedModel:
        return support.import_text(text, self.folder / "import")

    def test_a_matrix_product(self) -> None:
        found = work.read(self.model(), _RV64, self.folder)
        self.assertEqual((found.macs, found.counts["dense_f"]), (4 * 32 * 64, 4 * 32 * 64))
        self.assertEqual((found.dispatches, found.kernels), (1, 1))
        self.assertEqual(found.weight_bytes, 32 * 64 * 4)
        self.assertEqual(found.arena_bytes, 4 * 32 * 4 + 4 * 64 * 4)

    def test_only_kernels_without_vectors_read_a_padded_copy(self) -> None:
        model = self.model(_CONVOLUTION)
        vectors = work.read(model, _RV64, self.folder).arena_bytes
        self.assertLess(vectors, _IMAGE_BYTES + _PADDED_BYTES)
        for isa in ("rv32imac", "rv64gc"):
            found = work.read(model, target.find(isa), self.folder).arena_bytes
            self.assertEqual(found, _IMAGE_BYTES + _PADDED_BYTES, isa)

    def test_elements_without_products(self) -> None:
        found = work.read(self.model(support.ADD), _RV64, self.folder)
        self.assertEqual((found.macs, found.counts), (0, Counter({"elements": 16})))

    def test_estimates_follow_the_vectors(self) -> None:
        model = self.model()
        numbers = []
        for isa in ("rv64gcv_zvl128b", "rv64gcv_zvl256b", "rv64gcv_zvl1024b"):
            numbers.append(estimate.of(model, _WORK, target.find(isa)).instructions)
        self.assertEqual(numbers, sorted(numbers, reverse=True))
        self.assertLess(numbers[0], 2 * numbers[1])

    def test_without_vectors_and_floats(self) -> None:
        model = self.model()
        floats = replace(_WORK, counts=Counter({"dense_f": 10**6}))
        soft = estimate.of(model, floats, target.find("rv32imac")).instructions
        hard = estimate.of(model, floats, target.find("rv64gc")).instructions
        self.assertGreater(soft, 30 * hard)
        scalar = estimate.of(model, _WORK, target.find("rv32imc"))
        self.assertGreater(scalar.instructions, 3 * _WORK.macs)

    def test_weights_in_16_bits_and_of_f16(self) -> None:
        model = self.model()
        vectors = estimate.of(model, _WORK, _RV64)
        scalar = estimate.of(model, _WORK, target.find("rv64gc"))
        self.assertEqual(vectors.flash_bytes - scalar.flash_bytes, _WORK.widened_bytes)
        halves = estimate.of(replace(model, f16=True), _WORK, _RV64)
        self.assertEqual(halves.arena_bytes, _WORK.arena_bytes // 2)
        self.assertEqual(vectors.flash_bytes - halves.flash_bytes, _WORK.weight_bytes // 2)


if __name__ == "__main__":
    unittest.main()
