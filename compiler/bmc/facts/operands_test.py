"""Tests what report.json says about the bindings of kernels (facts/operands.py)."""

from __future__ import annotations

import unittest

import support

_TWO_STEPS = """func.func @main(%x: tensor<4x32xf32>) -> (tensor<4x64xf32>, tensor<4x64xi1>) {
  %w = stablehlo.constant dense<0.5> : tensor<32x64xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4x32xf32>, tensor<32x64xf32>) -> tensor<4x64xf32>
  %1 = stablehlo.compare GT, %0, %0 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xi1>
  return %0, %1 : tensor<4x64xf32>, tensor<4x64xi1>
}
"""


class OperandsTest(support.FolderTest):
    def test_shapes_types_and_directions(self) -> None:
        report = support.compile_text(_TWO_STEPS, self.folder)
        product = next(d for d in report["dispatches"] if "matmul" in d["op"])
        read = [o for o in product["operands"] if not o["writes"]]
        written = [o for o in product["operands"] if o["writes"]]
        self.assertIn((4, 32), [o["shape"] for o in read])
        self.assertEqual(
            [(o["dtype"], o["shape"], o["offset"]) for o in written][0], ("f32", (4, 64), 0)
        )
        for dispatch in report["dispatches"]:
            bindings = {o["binding"] for o in dispatch["operands"]}
            self.assertLessEqual(max(bindings), dispatch["bindings"] - 1)
            self.assertTrue(any(o["writes"] for o in dispatch["operands"]), dispatch)

    def test_source_is_the_line_of_the_model(self) -> None:
        report = support.compile_text(_TWO_STEPS, self.folder)
        product = next(d for d in report["dispatches"] if "matmul" in d["op"])
        self.assertEqual(product["source"], "source.mlir:3")


if __name__ == "__main__":
    unittest.main()
