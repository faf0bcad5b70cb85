"""Runs kernels that scatter rows, and tests which dispatches they are for."""

from __future__ import annotations

import unittest

import numpy as np
import riscv
from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.problem.scatter import Scatter
from bmc.kernels.read.scatter import read as read_scatter
from bmc.kernels.schedule import scatter
from bmc.kernels.unsupported import Unsupported

_TEXT = """
func.func @f(%to_u: memref<3x2x5xf32>, %to_i: memref<3xi64>, %to_r: memref<9x2x5xf32>, %other: memref<9x2x5xf32>) {
  %u = iree_codegen.load_from_buffer %to_u : memref<3x2x5xf32> -> tensor<3x2x5xf32>
  %i = iree_codegen.load_from_buffer %to_i : memref<3xi64> -> tensor<3xi64>
  %r = iree_codegen.load_from_buffer %to_r : memref<9x2x5xf32> -> tensor<9x2x5xf32>
  %new = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true)
      ins(%u, %i : tensor<3x2x5xf32>, tensor<3xi64>) outs(%r : tensor<9x2x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    iree_linalg_ext.yield %a : f32
  } -> tensor<9x2x5xf32>
  iree_codegen.store_to_buffer %new, %to_r : tensor<9x2x5xf32> into memref<9x2x5xf32>
  return
}
"""
_STORE = "  iree_codegen.store_to_buffer %u, %to_u : tensor<3x2x5xf32> into memref<3x2x5xf32>\n"


class ScatterTest(unittest.TestCase):
    def read(self, text: str) -> Scatter:
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            (function,) = ir_util.all_of(module, "func.func")
            found, operands = read_scatter(function)
            self.assertEqual(list(operands), list(function.regions[0].blocks[0].arguments)[:3])
            return found

    def test_a_scatter_of_rows(self) -> None:
        self.assertEqual(self.read(_TEXT), Scatter(3, 9, 40, 8))
        narrow = _TEXT.replace("3xi64", "3x1xi32").replace("f32", "i8")
        self.assertEqual(self.read(narrow), Scatter(3, 9, 10, 4))

    def test_anything_else(self) -> None:
        adds = "%c = arith.addf %a, %b : f32\n    iree_linalg_ext.yield %c"
        parts = _TEXT.replace("3x2x5x", "3x5x").replace("3xi64", "3x2xi64").replace("[0]", "[0, 1]")
        gaps = "memref<3x2x5xf32, strided<[20, 10, 1]>>"
        for reason, text in (
            ("computes", _TEXT.replace("iree_linalg_ext.yield %a", adds)),
            ("computes", _TEXT.replace("iree_linalg_ext.yield %a", "iree_linalg_ext.yield %b")),
            ("not in place", _TEXT.replace("%new, %to_r", "%new, %other")),
            ("not contiguous", _TEXT.replace("memref<3x2x5xf32>", gaps)),
            ("parts", parts),
            ("single scatter", _TEXT.replace("  return\n", f"{_STORE}  return\n")),
        ):
            with self.subTest(reason=reason), self.assertRaisesRegex(Unsupported, reason):
                self.read(text)

    def test_rows_of_every_size(self) -> None:
        generator = np.random.default_rng(4)
        for index, xlen in ((np.int64, 64), (np.int32, 64), (np.int64, 32), (np.int32, 32)):
            for size in (1, 40, 256, 300, 1024, 2500):
                updates, rows = (generator.integers(0, 255, (n, size), np.uint8) for n in (4, 7))
                # The second one overwrites the first one, and the third one names no row.
                indices = np.array([5, 5, 7, 0], index)
                right = rows.copy()
                right[5], right[0] = updates[1], updates[3]
                for odd in (7, -1, np.iinfo(index).max, np.iinfo(index).min):
                    indices[2] = odd
                    with self.subTest(index=index, size=size, xlen=xlen, odd=odd):
                        found = Scatter(4, 7, size, indices.itemsize)
                        kernel = scatter.write(found, 128, xlen)
                        data = [updates, indices, rows.copy()]
                        machine = riscv.Machine(256, data, writable={2})
                        machine.run(kernel.text, kernel.arguments)
                        np.testing.assert_array_equal(data[2], right)
                        self.assertLess(machine.executed, kernel.executed)
                most = riscv.Machine(
                    256, [updates, np.array([5, 5, 1, 0], index), rows], writable={2}
                )
                most.run(kernel.text, kernel.arguments)
                self.assertEqual(most.executed, kernel.executed)


if __name__ == "__main__":
    unittest.main()
