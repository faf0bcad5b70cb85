"""Runs kernels that move or compute elements, and tests which dispatches they are for."""

from __future__ import annotations

import unittest

import numpy as np
import products
import riscv
from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.dtypes import TYPES, WIDTHS
from bmc.kernels.problem.elementwise import Elementwise
from bmc.kernels.problem.product import RESULT, Loop, Node
from bmc.kernels.read.elementwise import arranged
from bmc.kernels.read.elementwise import read as read_elementwise
from bmc.kernels.schedule import elementwise
from bmc.kernels.unsupported import Unsupported

_TEXT = """
func.func @f(%to_x: memref<6x20xf32>, %to_s: memref<6xf32>, %to_y: memref<20x6xf32>) {
  %x = iree_codegen.load_from_buffer %to_x : memref<6x20xf32> -> tensor<6x20xf32>
  %s = iree_codegen.load_from_buffer %to_s : memref<6xf32> -> tensor<6xf32>
  %empty = tensor.empty() : tensor<20x6xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
                       affine_map<(d0, d1) -> (d1, d0)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<6x20xf32>, tensor<6xf32>) outs(%empty : tensor<20x6xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<20x6xf32>
  iree_codegen.store_to_buffer %y, %to_y : tensor<20x6xf32> into memref<20x6xf32>
  return
}
"""
_MOVE = """
func.func @f(%to_x: memref<6x20xi8>, %to_y: memref<6x20xi8, strided<[32, 1], offset: 3>>) {
  %x = iree_codegen.load_from_buffer %to_x : memref<6x20xi8> -> tensor<6x20xi8>
  iree_codegen.store_to_buffer %x, %to_y : tensor<6x20xi8> into memref<6x20xi8, strided<[32, 1], offset: 3>>
  return
}
"""
_LOOKUP = """
func.func @f(%to_x: memref<300xi8>, %to_table: memref<256xi8>, %to_other: memref<256xi8>,
             %to_y: memref<300xi8>, %to_z: memref<300xi8>) {
  %x = iree_codegen.load_from_buffer %to_x : memref<300xi8> -> tensor<300xi8>
  %table = iree_codegen.load_from_buffer %to_table : memref<256xi8> -> tensor<256xi8>
  %other = iree_codegen.load_from_buffer %to_other : memref<256xi8> -> tensor<256xi8>
  %empty = tensor.empty() : tensor<300xi8>
  %c128 = arith.constant 128 : index
  %y, %z = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]} ins(%x : tensor<300xi8>) outs(%empty, %empty : tensor<300xi8>, tensor<300xi8>) {
  ^bb0(%a: i8, %old: i8, %old_too: i8):
    %i = arith.index_cast %a : i8 to index
    %place = arith.addi %i, %c128 : index
    %b = tensor.extract %table[%place] : tensor<256xi8>
    %sum = arith.addi %a, %b : i8
    %j = arith.index_cast %sum : i8 to index
    %next = arith.addi %j, %c128 : index
    %c = tensor.extract %other[%next] : tensor<256xi8>
    linalg.yield %sum, %c : i8, i8
  } -> (tensor<300xi8>, tensor<300xi8>)
  iree_codegen.store_to_buffer %y, %to_y : tensor<300xi8> into memref<300xi8>
  iree_codegen.store_to_buffer %z, %to_z : tensor<300xi8> into memref<300xi8>
  return
}
"""


class ElementwiseTest(unittest.TestCase):
    def read(self, text: str) -> Elementwise:
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            (function,) = ir_util.all_of(module, "func.func")
            return read_elementwise(function)[0]

    def agrees(self, it: Elementwise) -> None:
        """Asserts the result of kernels for a VLEN on harts of a VLEN."""
        loops = (*it.outer, it.lanes)
        generator = np.random.default_rng(2)
        data = []
        for number in range(RESULT, len(it.dtypes)):
            dtype = it.dtypes[number]
            reach = sum((loop.extent - 1) * loop.strides[number] for loop in loops)
            is_table = any(node.op == "lookup" and node.operand == number for node in it.nodes)
            size = products.TABLE if is_table else reach // WIDTHS[dtype] + 1
            data.append(generator.integers(-100, 100, size).astype(products.DTYPES[dtype]))

        def view(number: int, arrays: list[products.Array]) -> products.Array:
            return np.lib.stride_tricks.as_strided(
                arrays[number - RESULT],
                [loop.extent for loop in loops],
                [loop.strides[number] for loop in loops],
            )

        right = [array.copy() for array in data]
        none = np.zeros(0)
        values = products.evaluated(
            it.nodes,
            none,
            lambda number: view(number, data),
            lambda number: data[number - RESULT],
        )
        for number, value in values.items():
            view(number, right)[...] = value
        for vlen, hart, xlen in ((128, 128, 64), (256, 256, 32), (128, 512, 64)):
            kernel = elementwise.write(it, vlen, xlen)
            copies = [array.copy() for array in data]
            machine = riscv.Machine(hart, copies, writable={n - RESULT for n in values})
            if kernel.in_memory:
                machine.pass_in_memory(xlen // 8)
            machine.run(kernel.text, kernel.arguments)
            with self.subTest(vlen=vlen, hart=hart):
                for number in values:
                    np.testing.assert_array_equal(copies[number - RESULT], right[number - RESULT])
                self.assertLessEqual(machine.written, set(kernel.clobbered))
                self.assertEqual(kernel.executed, machine.executed)

    def test_a_transpose_with_an_operation(self) -> None:
        it = self.read(_TEXT)
        self.assertEqual(it.dtypes[RESULT:], ("f32", "f32", "f32"))
        # The result and the factors move through rows of the image, in steps of four bytes.
        self.assertEqual(it.lanes, Loop(20, (0, 0, 24, 4, 0)))
        self.assertEqual(it.outer, (Loop(6, (0, 0, 4, 80, 4)),))
        self.assertEqual([node.op for node in it.nodes], ["load", "scalar", "mulf"])
        self.agrees(it)

    def test_f16(self) -> None:
        """It is computed in 16 bits if everything is f16, and in f32 otherwise."""
        it = self.read(_TEXT.replace("f32", "f16"))
        self.assertEqual({node.dtype for node in it.nodes}, {"f16"})
        self.agrees(it)
        self.assertIn(", e16, ", elementwise.write(it, 128, 64).text)
        operation = "%r = arith.mulf %a, %b : f32"
        mixed = """%wide = arith.extf %a : f16 to f32
    %product = arith.mulf %wide, %b : f32
    %r = arith.truncf %product : f32 to f16"""
        text = _TEXT.replace(operation, mixed).replace("6x20xf32", "6x20xf16")
        text = text.replace("20x6xf32", "20x6xf16").replace("%a: f32", "%a: f16")
        text = text.replace("%old: f32", "%old: f16").replace("yield %r : f32", "yield %r : f16")
        it = self.read(text)
        self.assertEqual(it.dtypes[RESULT:], ("f16", "f16", "f32"))
        self.agrees(it)

    def test_bf16(self) -> None:
        """No instruction computes in it: loads extend it, and stores round to it."""
        it = self.read(_TEXT.replace("f32", "bf16"))
        self.assertEqual((it.dtypes[RESULT:], it.halves), (("bf16",) * 3, {"bf16"}))
        self.agrees(it)
        text = elementwise.write(it, 128, 64).text
        for name in ("vfwcvtbf16.f.f.v", "fcvt.s.bf16", "vfmul.vf", "vfncvtbf16.f.f.w"):
            self.assertIn(name, text)

    def test_maxima_of_f16_that_iree_extends(self) -> None:
        operation = "%r = arith.mulf %a, %b : f16"
        largest = """%c = arith.constant 0.5 : f32
    %wide = arith.extf %a : f16 to f32
    %most = arith.maximumf %wide, %c : f32
    %r = arith.truncf %most : f32 to f16"""
        it = self.read(_TEXT.replace("f32", "f16").replace(operation, largest))
        self.assertEqual([(node.op, node.dtype) for node in it.nodes], [
            ("load", "f16"), ("constant", "f16"), ("maximumf", "f16"),
        ])  # fmt: skip
        self.agrees(it)
        it = self.read(
            _TEXT.replace("f32", "f16").replace(operation, largest.replace("0.5", "0.1"))
        )
        self.assertIn("f32", {node.dtype for node in it.nodes})  # f16 has no such number

    def test_a_move(self) -> None:
        it = self.read(_MOVE)
        self.assertEqual(it.nodes, (Node("load", "i8", operand=3),))
        self.assertEqual(it.lanes, Loop(20, (0, 0, 1, 1)))
        self.agrees(it)

    def test_groups_are_no_larger_than_the_lanes_need(self) -> None:
        for dtype, width in ((each, WIDTHS[each]) for each in TYPES):
            for bytes_, lmul in ((32, "m1"), (36, "m2"), (132, "m8"), (1000, "m8")):
                loop = Loop(bytes_ // width, (0, 0, width, width))
                moved = ("", "", dtype, dtype)
                it = arranged(moved, [loop], [Node("load", dtype, operand=3)])
                with self.subTest(dtype=dtype, bytes=bytes_):
                    self.assertIn(f", e{8 * width}, {lmul},", elementwise.write(it, 256, 64).text)

    def test_windows_are_copied(self) -> None:
        """As for a convolution that becomes a matrix product: windows of 3x2 with a stride of 2."""
        it = self.read("""
func.func @f(%to_x: memref<21x8xi8>, %to_y: memref<10x4x3x2xi8>) {
  %x = iree_codegen.load_from_buffer %to_x : memref<21x8xi8> -> tensor<21x8xi8>
  %empty = tensor.empty() : tensor<10x4x3x2xi8>
  %y = linalg.generic {
      indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d2, d1 * 2 + d3)>,
                       affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<21x8xi8>) outs(%empty : tensor<10x4x3x2xi8>) {
  ^bb0(%in: i8, %out: i8):
    linalg.yield %in : i8
  } -> tensor<10x4x3x2xi8>
  iree_codegen.store_to_buffer %y, %to_y : tensor<10x4x3x2xi8> into memref<10x4x3x2xi8>
  return
}
""")
        # From one window to the next: 24 or 6 bytes of the result, two lines or two columns of the image.
        self.assertEqual(it.lanes, Loop(10, (0, 0, 24, 16)))
        others = [Loop(4, (0, 0, 6, 2)), Loop(3, (0, 0, 2, 8)), Loop(2, (0, 0, 1, 1))]
        self.assertEqual(it.outer, tuple(others))
        self.agrees(it)

    def test_a_move_between_buffers(self) -> None:
        to = "memref<6x20xi8, strided<[32, 1], offset: 3>>"
        it = self.read(f"""
func.func @f(%x: memref<6x20xi8>, %y: {to}) {{
  linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                   iterator_types = ["parallel", "parallel"]}} ins(%x : memref<6x20xi8>) outs(%y : {to}) {{
  ^bb0(%in: i8, %out: i8):
    linalg.yield %in : i8
  }}
  return
}}
""")
        self.assertEqual(it, self.read(_MOVE))

    def test_moves_of_every_width_and_size(self) -> None:
        for dtype, width in ((each, WIDTHS[each]) for each in TYPES):
            for rows, columns in ((1, 9), (3, 70), (17, 300)):
                loops = [
                    Loop(rows, (0, 0, width, width * columns)),
                    Loop(columns, (0, 0, width * rows, width)),
                ]
                it = arranged(("", "", dtype, dtype), loops, [Node("load", dtype, operand=3)])
                self.assertEqual(it.lanes.extent, max(rows, columns))
                self.agrees(it)

    def test_neighbors_before_long_lanes(self) -> None:
        loops = [Loop(100, (0, 0, 40, 32)), Loop(30, (0, 0, 1, 1))]
        it = arranged(("", "", "i8", "i8"), loops, [Node("load", "i8", operand=3)])
        self.assertEqual(it.lanes.extent, 30)
        self.agrees(it)

    def test_operands_that_are_the_same_for_all_lanes(self) -> None:
        """A number for each row of bytes, and one for everything."""
        nodes = [
            Node("load", "i8", operand=3),
            Node("extsi", "i32", (0,)),
            Node("load", "i8", operand=4),
            Node("extsi", "i32", (2,)),
            Node("addi", "i32", (1, 3)),
            Node("load", "i32", operand=5),
            Node("muli", "i32", (4, 5)),
            Node("trunci", "i8", (6,)),
        ]
        loops = [Loop(5, (0, 0, 50, 50, 1, 0)), Loop(50, (0, 0, 1, 1, 0, 0))]
        self.agrees(arranged(("", "", "i8", "i8", "i8", "i32"), loops, nodes))
        broadcast = [Node("load", "f32", operand=3)]
        loops = [Loop(5, (0, 0, 80, 4)), Loop(20, (0, 0, 4, 0))]
        self.agrees(arranged(("", "", "f32", "f32"), loops, broadcast))

    def test_lookups_and_two_results(self) -> None:
        for extent, wide in ((300, 300), (20, 20)):
            it = self.read(_LOOKUP.replace("300", str(extent)))
            self.assertEqual([node.op for node in it.nodes].count("lookup"), 2)
            self.assertEqual(it.lanes.extent, wide)
            self.agrees(it)
        twice = "%twice = arith.muli %i, %i : index\n    %place = arith.addi %twice, %c128"
        with self.assertRaisesRegex(Unsupported, "an epilogue with arith.muli to index"):
            self.read(_LOOKUP.replace("%place = arith.addi %i, %c128", twice))

    def test_functions(self) -> None:
        for name in ("erf", "exp", "tanh"):
            with self.subTest(name):
                body = f"%f = math.{name} %a : f32\n    %r = arith.mulf %f, %b : f32"
                self.agrees(self.read(_TEXT.replace("%r = arith.mulf %a, %b : f32", body)))

    def test_more_operands_than_registers(self) -> None:
        """Of several widths, in rows, in columns, and one number for each row."""
        kinds = [("i32", 24, 1), ("i8", 24, 1), ("i32", 1, 7), ("i32", 1, 0)]
        dtypes, strides, nodes = ["", "", "i32"], [(0, 0), (0, 0), (96, 4)], []
        for number in range(40):
            dtype, row, lane = kinds[number % 4]
            dtypes.append(dtype)
            strides.append((row * WIDTHS[dtype], lane * WIDTHS[dtype]))
            nodes.append(Node("load", dtype, operand=RESULT + 1 + number))
            if number:
                last = len(nodes) - 1
                nodes.append(
                    Node("addi" if number % 3 else "subi", "i32", (max(0, last - 1), last))
                )
        rows, lanes = zip(*strides, strict=True)
        loops = [Loop(7, rows), Loop(24, lanes)]
        it = arranged(tuple(dtypes), loops, nodes)
        self.assertTrue(elementwise.write(it, 128, 64).in_memory)
        self.agrees(it)
        long = [Loop(7, tuple(100 * row for row in rows)), Loop(2000, lanes)]
        self.agrees(arranged(tuple(dtypes), long, nodes))

    def test_anything_else(self) -> None:
        twice = "  iree_codegen.store_to_buffer %x, %to_x : tensor<6x20xi8> into memref<6x20xi8>\n"
        more = "  iree_codegen.store_to_buffer %x, %to_x : tensor<6x20xf32> into memref<6x20xf32>\n"
        for reason, text in (
            ("a dispatch with", _TEXT.replace("  return\n", more + "  return\n")),
            ("not a single operation", _TEXT.replace("  iree_codegen.store", "  // ")),
            ("only copied", _MOVE.replace("  return\n", twice + "  return\n")),
            ("an epilogue with math.log", _TEXT.replace("arith.mulf %a, %b", "math.log %a")),
            ("an epilogue with a f32", _TEXT.replace("%a, %b :", "%a, %old :")),
            ("that the dispatch computes", _TEXT.replace("ins(%x,", "ins(%late,").replace(
                "  %empty", "  %late = tensor.empty() : tensor<6x20xf32>\n  %empty")),
            ("too few elements", _TEXT.replace("20", "7")),
            ("of type .*f64", _MOVE.replace("i8", "f64")),
        ):  # fmt: skip
            with self.subTest(reason=reason), self.assertRaisesRegex(Unsupported, reason):
                self.read(text)


if __name__ == "__main__":
    unittest.main()
