"""Tests which models compute in 16-bit floats."""

from __future__ import annotations

import unittest

from iree.compiler import ir

from bmc.facts import half_floats


class HalfFloatsTest(unittest.TestCase):
    def found(self, element: str) -> bool:
        operation = "addf" if "f" in element else "addi"
        with ir.Context():
            module = ir.Module.parse(f"""
func.func @main(%x: tensor<4x{element}>, %n: i16) -> tensor<4x{element}> {{
  %m = arith.addi %n, %n : i16
  %0 = arith.{operation} %x, %x : tensor<4x{element}>
  return %0 : tensor<4x{element}>
}}
""")
            return half_floats.found(module)

    def test_tensors(self) -> None:
        for element in ("f16", "bf16"):
            self.assertTrue(self.found(element), element)
        for element in ("f32", "f64", "i16"):
            self.assertFalse(self.found(element), element)

    def test_a_scalar_between_tensors_of_f32(self) -> None:
        with ir.Context():
            module = ir.Module.parse("""
func.func @main(%x: f32) -> f32 {
  %0 = arith.truncf %x : f32 to bf16
  %1 = arith.extf %0 : bf16 to f32
  return %1 : f32
}
""")
            self.assertTrue(half_floats.found(module))


if __name__ == "__main__":
    unittest.main()
