"""Tests the bounds of integers, with values that reach them and values that would wrap."""

from __future__ import annotations

import unittest

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.ir.ranges import Range, Ranges

_I8, _I32 = Range(-128, 127), Range(-(2**31), 2**31 - 1)

_CONVOLUTION = """
#x = affine_map<(d0, d1, d2, d3) -> (d0 + d2, d3)>
#w = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
#y = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
func.func @main(%x: tensor<8x16xi8>) -> tensor<6x4xi32> {
  %w = arith.constant dense<-128> : tensor<4x3x16xi8>
  %start = arith.constant START : i32
  %empty = tensor.empty() : tensor<6x4xi32>
  %bias = linalg.fill ins(%start : i32) outs(%empty : tensor<6x4xi32>) -> tensor<6x4xi32>
  %0 = linalg.generic {indexing_maps = [#x, #w, #y],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<8x16xi8>, tensor<4x3x16xi8>) outs(%bias : tensor<6x4xi32>) {
  ^bb0(%a: i8, %b: i8, %sum: i32):
    %1 = arith.extsi %a : i8 to i32
    %2 = arith.extsi %b : i8 to i32
    %3 = arith.muli %1, %2 : i32
    %4 = arith.addi %sum, %3 : i32
    linalg.yield %4 : i32
  } -> tensor<6x4xi32>
  return %0 : tensor<6x4xi32>
}
"""


class RangesTest(unittest.TestCase):
    def returned(self, text: str) -> Range:
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            (done,) = ir_util.all_of(module, "func.return")
            return Ranges(module).of(done.operands[0])

    def scalar(self, *lines: str, result: str = "i32") -> Range:
        body = "\n".join(lines)
        return self.returned(f"func.func @main(%x: i8, %y: i32, %c: i1) -> {result} {{\n{body}\n}}")

    def test_a_sum_of_products(self) -> None:
        # The window is 3 and there are 16 channels.
        products = Range(48 * -127 * 128, 48 * 128 * 128)
        self.assertEqual(
            self.returned(_CONVOLUTION.replace("START", "100")), products + Range(100, 100)
        )

    def test_a_sum_that_may_wrap_around(self) -> None:
        self.assertEqual(self.returned(_CONVOLUTION.replace("START", str(2**31 - 1))), _I32)

    def test_arithmetic(self) -> None:
        wide = "%w = arith.extsi %x : i8 to i32"
        for operation, low, high in (
            ("arith.addi %w, %k", -121, 134),
            ("arith.subi %k, %w", -120, 135),
            ("arith.muli %w, %k", -896, 889),
            ("arith.shli %w, %k", -128 << 7, 127 << 7),
            ("arith.shrsi %w, %k", -1, 0),
            ("arith.maxsi %w, %k", 7, 127),
            ("arith.minsi %w, %k", -128, 7),
            ("arith.select %c, %w, %k", -128, 127),
            # Nobody knows what xori does.
            ("arith.xori %w, %k", _I32.low, _I32.high),
            ("arith.addi %y, %k", _I32.low, _I32.high),
        ):
            got = self.scalar(
                wide, "%k = arith.constant 7 : i32", f"%r = {operation} : i32", "return %r : i32"
            )
            self.assertEqual(got, Range(low, high), operation)

    def test_casts(self) -> None:
        unsigned = ("%r = arith.extui %x : i8 to i32", "return %r : i32")
        self.assertEqual(self.scalar(*unsigned), Range(0, 255))
        narrow = ("%r = arith.trunci %y : i32 to i8", "return %r : i8")
        self.assertEqual(self.scalar(*narrow, result="i8"), _I8)

    def test_padding_is_a_value(self) -> None:
        text = """func.func @main(%x: tensor<4xi8>) -> tensor<6xi32> {
  %empty = tensor.empty() : tensor<4xi32>
  %zero = arith.constant 300 : i32
  %full = linalg.fill ins(%zero : i32) outs(%empty : tensor<4xi32>) -> tensor<4xi32>
  %p = arith.constant -5 : i32
  %0 = tensor.pad %full low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %p : i32
  } : tensor<4xi32> to tensor<6xi32>
  return %0 : tensor<6xi32>
}
"""
        self.assertEqual(self.returned(text), Range(-5, 300))

    def test_a_long_chain(self) -> None:
        """What is far back may be anything of its type."""
        masked = ["%a0 = arith.extui %x : i8 to i32"]
        for length, known in ((40, True), (4000, False)):
            steps = [f"%a{i + 1} = arith.maxsi %a{i}, %a{i} : i32" for i in range(length)]
            found = self.scalar(*masked, *steps, f"return %a{length} : i32")
            self.assertEqual(found == Range(0, 255), known)

    def test_an_operation_with_a_name_of_its_own(self) -> None:
        text = """func.func @main(%b: !hal.buffer_view) -> tensor<4xi32> {
  %0 = hal.tensor.import %b "input0" : !hal.buffer_view -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
"""
        self.assertEqual(self.returned(text), _I32)

    def test_indices(self) -> None:
        steps = "%k = arith.constant 9 : index", "%i = arith.index_cast %y : i32 to index"
        less = "%z = arith.constant 0 : index", "%m = arith.maxsi %i, %z : index"
        self.assertEqual(
            self.scalar(*steps, *less, "%r = arith.remui %m, %k : index", "return %r : index",
                        result="index"),
            Range(0, 8),
        )  # fmt: skip
        self.assertEqual(self.scalar(*steps, "return %k : index", result="index"), Range(9, 9))
        self.assertEqual(self.scalar(*steps, "return %i : index", result="index"), _I32)

    def test_stablehlo(self) -> None:
        def elements(*lines: str) -> Range:
            body = "\n".join(lines)
            head = "func.func @main(%x: tensor<5xi32>, %c: tensor<5xi1>) -> tensor<5xi32>"
            return self.returned(f"{head} {{\n{body}\n return %r : tensor<5xi32>\n}}")

        counted = "%i = stablehlo.iota dim = 0 : tensor<5xi32>"
        three = "%k = stablehlo.constant dense<3> : tensor<5xi32>"
        self.assertEqual(
            elements(counted, three, "%r = stablehlo.add %i, %k : tensor<5xi32>"), Range(3, 7)
        )
        clamp = "%r = stablehlo.clamp %i, %x, %k : tensor<5xi32>"
        self.assertEqual(elements(counted, three, clamp), Range(0, 3))
        select = "%r = stablehlo.select %c, %i, %k : tensor<5xi1>, tensor<5xi32>"
        self.assertEqual(elements(counted, three, select), Range(0, 4))
        self.assertEqual(elements(three, "%r = stablehlo.add %x, %k : tensor<5xi32>"), _I32)
        convert = "%b = stablehlo.convert %c : (tensor<5xi1>) -> tensor<5xi32>"
        add = "%r = stablehlo.add %b, %k : tensor<5xi32>"
        self.assertEqual(elements(three, convert, add), Range(3, 4))

    def test_dynamic_extents(self) -> None:
        text = """func.func @main(%x: tensor<?xi32>, %n: index) -> tensor<?xindex> {
  %e = tensor.empty(%n) : tensor<?xindex>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%e : tensor<?xindex>) {
  ^bb0(%out: index):
    %i = linalg.index 0 : index
    linalg.yield %i : index
  } -> tensor<?xindex>
  return %r : tensor<?xindex>
}"""
        self.assertEqual(self.returned(text), Range(-(2**63), 2**63 - 1))


if __name__ == "__main__":
    unittest.main()
