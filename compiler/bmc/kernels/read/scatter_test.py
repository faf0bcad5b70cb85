"""Tests which dispatches are read as a scatter of rows."""

from __future__ import annotations

import unittest

from iree.compiler import ir

from bmc.kernels.problem.scatter import Scatter
from bmc.kernels.read import scatter
from bmc.kernels.unsupported import Unsupported

_TEXT = """func.func @main(%u: memref<{0}x4xf32>, %i: memref<{0}xi64>, %x: memref<5x4xf32>) {{
  %0 = iree_codegen.load_from_buffer %u : memref<{0}x4xf32> -> tensor<{0}x4xf32>
  %1 = iree_codegen.load_from_buffer %i : memref<{0}xi64> -> tensor<{0}xi64>
  %2 = iree_codegen.load_from_buffer %x : memref<5x4xf32> -> tensor<5x4xf32>
  %3 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false)
      ins(%0, %1 : tensor<{0}x4xf32>, tensor<{0}xi64>) outs(%2 : tensor<5x4xf32>) {{
  ^bb0(%a: f32, %b: f32):
    iree_linalg_ext.yield %a : f32
  }} -> tensor<5x4xf32>
  iree_codegen.store_to_buffer %3, %x : tensor<5x4xf32> into memref<5x4xf32>
  return
}}
"""


class ScatterTest(unittest.TestCase):
    def test_rows_of_a_known_number(self) -> None:
        for count, wanted in (("3", Scatter(3, 5, 16, 8)), ("0", None), ("?", None)):
            with ir.Context(), ir.Location.unknown():
                module = ir.Module.parse(_TEXT.format(count))
                function = module.body.operations[0]
                if wanted:
                    self.assertEqual(scatter.read(function.operation)[0], wanted)
                else:
                    with self.assertRaisesRegex(Unsupported, "only the data decide"):
                        scatter.read(function.operation)

    def test_rows_that_it_reads_and_writes(self) -> None:
        text = _TEXT.format("5").replace("load_from_buffer %u", "load_from_buffer %x")
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            with self.assertRaisesRegex(Unsupported, "that it also writes"):
                scatter.read(module.body.operations[0].operation)


if __name__ == "__main__":
    unittest.main()
