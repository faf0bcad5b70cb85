"""Tests what a matcher is told about a dispatch function."""

from __future__ import annotations

import re
import unittest

import numpy as np
from iree.compiler import ir

from bmc import target
from bmc.ir import ir_util
from bmc.kernels.unsupported import Unsupported
from bmc.libraries import Dispatch, matmul, reading
from bmc.libraries.dispatch import array_of

_BINDING = "#hal.pipeline.binding<storage_buffer>"
_LAYOUT = f"#hal.pipeline.layout<bindings = [{_BINDING}, {_BINDING}]>"
_FUNCTION = """
func.func @main_dispatch_7_matmul_4x8x2_f32() {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %bias = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %w = arith.constant dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]]>
    : tensor<2x8xf32>
  %image = hal.interface.binding.subspan layout({layout}) binding(0) alignment(64) offset({offset})
    : memref<6x2xf32, {space}>
  %to_y = hal.interface.binding.subspan layout({layout}) binding(1) alignment(64) offset(%c0) : memref<4x8xf32>
  %to_x = memref.subview %image[2, 0] [4, 2] [1, 1]
    : memref<6x2xf32, {space}> to memref<4x2xf32, strided<[2, 1], offset: {start}>>
  %x = iree_codegen.load_from_buffer %to_x : memref<4x2xf32, strided<[2, 1], offset: {start}>> -> tensor<4x2xf32>
  %empty = tensor.empty() : tensor<4x8xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %sums = linalg.matmul ins(%x, %w : tensor<4x2xf32>, tensor<2x8xf32>)
    outs(%start : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.generic {{
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
                       affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%sums, %bias : tensor<4x8xf32>, tensor<8xf32>) outs(%empty : tensor<4x8xf32>) {{
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = {op} %a, %b : f32
    linalg.yield %r : f32
  }} -> tensor<4x8xf32>
  iree_codegen.store_to_buffer %y, %to_y : tensor<4x8xf32> into memref<4x8xf32>
  return
}}
"""


def _read(
    op: str = "arith.addf", image: str = "", offset: str = "16", start: str = "20"
) -> Dispatch:
    text = _FUNCTION.format(
        layout=_LAYOUT,
        op=op,
        start=start,
        offset="%c64",
        space=f"strided<[2, 1], offset: {offset}>",
    )
    if image:
        text = re.sub(r"%image = hal.*\n.* : ", f"%image = {image} : ", text)
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (function,) = ir_util.all_of(module, "func.func")
        return reading.dispatch(function, target.find("rv64gcv_zvl256b"))


class ReadingTest(unittest.TestCase):
    def test_operands_are_where_iree_has_them(self) -> None:
        found = _read()
        self.assertEqual((found.name, found.vlen_bits), ("matmul_4x8x2_f32", 256))
        self.assertEqual([loop.extent for loop in found.loops], [4, 8, 2])
        self.assertEqual([loop.is_summed for loop in found.loops], [False, False, True])
        # 64 bytes into the binding, and then two rows of two floats.
        self.assertEqual((found.a.binding, found.a.offset), (0, 80))
        self.assertEqual((found.result.binding, found.result.offset), (1, 0))
        self.assertEqual(found.a.steps, (2, 0, 1))
        self.assertEqual([node.op for node in found.epilogue], ["sum", "load", "addf"])
        assert matmul(found) is not None

    def test_numbers_in_the_code_are_known(self) -> None:
        found = _read()
        self.assertEqual((found.a.values, found.b.binding), (None, -1))
        assert found.b.values is not None
        np.testing.assert_array_equal(found.b.values, np.arange(16).reshape(2, 8))
        # In the order of the loops: columns, then terms.
        array = array_of(found.b, found.loops, found.b.values.tobytes())
        np.testing.assert_array_equal(array, np.arange(16).reshape(2, 8).T)

    def test_other_operations_are_not_offered(self) -> None:
        with self.assertRaises(Unsupported):
            _read("arith.remf")

    def test_memory_that_has_no_place_yet_is_not_offered(self) -> None:
        for image, offset, start in (("memref.alloc()", "16", "20"), ("", "?", "?")):
            with self.assertRaisesRegex(Unsupported, "known only at run time"):
                _read(image=image, offset=offset, start=start)


if __name__ == "__main__":
    unittest.main()
