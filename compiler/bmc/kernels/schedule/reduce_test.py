"""Runs kernels that add up elements, and tests which dispatches they are for."""

from __future__ import annotations

import unittest

import numpy as np
import products
import riscv
from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import RESULT, Loop, Node
from bmc.kernels.problem.reduction import Reduction
from bmc.kernels.read import reduction
from bmc.kernels.schedule import reduce
from bmc.kernels.unsupported import Unsupported

# The sums of lines or columns of an image, less a number for each result, and one for all.
_TEXT = """
func.func @f(%to_x: memref<5x70x{type}>, %to_b: memref<{n}x{sum}>, %to_y: memref<{n}x{sum}>) {{
  %x = iree_codegen.load_from_buffer %to_x : memref<5x70x{type}> -> tensor<5x70x{type}>
  %b = iree_codegen.load_from_buffer %to_b : memref<{n}x{sum}> -> tensor<{n}x{sum}>
  %empty = tensor.empty() : tensor<{n}x{sum}>
  %c0 = arith.constant {zero} : {sum}
  %c3 = arith.constant {three} : {sum}
  %zero = linalg.fill ins(%c0 : {sum}) outs(%empty : tensor<{n}x{sum}>) -> tensor<{n}x{sum}>
  %sums = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> ({image})>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]}} ins(%x : tensor<5x70x{type}>) outs(%zero : tensor<{n}x{sum}>) {{
  ^bb0(%a: {type}, %old: {sum}):
    {wide}
    %v = arith.{mul} %wide, %c3 : {sum}
    %r = arith.{add} %old, %v : {sum}
    linalg.yield %r : {sum}
  }} -> tensor<{n}x{sum}>
  %y = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}} ins(%sums, %b : tensor<{n}x{sum}>, tensor<{n}x{sum}>)
      outs(%empty : tensor<{n}x{sum}>) {{
  ^bb0(%a: {sum}, %c: {sum}, %old: {sum}):
    %d = arith.{sub} %a, %c : {sum}
    %r = arith.{add} %d, %c3 : {sum}
    linalg.yield %r : {sum}
  }} -> tensor<{n}x{sum}>
  iree_codegen.store_to_buffer %y, %to_y : tensor<{n}x{sum}> into memref<{n}x{sum}>
  return
}}
"""
_FLOATS = {
    "type": "f32",
    "sum": "f32",
    "zero": "0.0",
    "three": "3.0",
    "mul": "mulf",
    "add": "addf",
    "sub": "subf",
}
_FLOATS |= {"wide": "%wide = arith.mulf %a, %c3 : f32"}
_HALVES = _FLOATS | {"type": "f16", "wide": "%wide = arith.extf %a : f16 to f32"}
_BYTES = {
    "type": "i8",
    "sum": "i32",
    "zero": "0",
    "three": "3",
    "mul": "muli",
    "add": "addi",
    "sub": "subi",
}
_BYTES |= {"wide": "%wide = arith.extsi %a : i8 to i32"}
_LINES = {"n": "5", "image": "d0, d1"}
_COLUMNS = {"n": "70", "image": "d1, d0"}
_WINDOWS = """
func.func @f(%to_x: memref<9x21x12xf32>, %to_y: memref<4x10x12xf32>) {
  %x = iree_codegen.load_from_buffer %to_x : memref<9x21x12xf32> -> tensor<9x21x12xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %empty = tensor.empty() : tensor<4x10x12xf32>
  %c0 = arith.constant 0.0 : f32
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<4x10x12xf32>) -> tensor<4x10x12xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0 * 2 + d3, d1 * 2 + d4, d2)>,
                       affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>,
                       affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %window : tensor<9x21x12xf32>, tensor<3x3xf32>) outs(%zero : tensor<4x10x12xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.addf %old, %a : f32
    linalg.yield %r : f32
  } -> tensor<4x10x12xf32>
  iree_codegen.store_to_buffer %y, %to_y : tensor<4x10x12xf32> into memref<4x10x12xf32>
  return
}
"""


class ReductionsTest(unittest.TestCase):
    def read(self, text: str) -> Reduction:
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            (function,) = ir_util.all_of(module, "func.func")
            return reduction.read(function)[0]

    def agrees(self, it: Reduction) -> None:
        """Asserts the result of kernels for a VLEN on harts of a VLEN, on small integers."""
        results = [*it.outer] if it.across else [*it.outer, *(it.grid or [it.lanes])]
        summed = [*it.summed, it.lanes] if it.across else [*it.summed]
        loops = [*results, *summed]
        generator = np.random.default_rng(2)
        data = []
        for number in range(RESULT, len(it.dtypes)):
            reach = sum((loop.extent - 1) * loop.strides[number] for loop in loops)
            size = reach // WIDTHS[it.dtypes[number]] + 1
            data.append(
                generator.integers(-100, 100, size).astype(products.DTYPES[it.dtypes[number]])
            )

        def view(number: int, arrays: list[products.Array], over: list[Loop]) -> products.Array:
            return np.lib.stride_tricks.as_strided(
                arrays[number - RESULT],
                [loop.extent for loop in over],
                [loop.strides[number] for loop in over],
            )

        zeros = np.zeros([loop.extent for loop in loops], products.DTYPES[it.step[0].dtype])
        elements = products.evaluated(it.step, zeros, lambda n: view(n, data, loops))[RESULT]
        axes = tuple(range(len(results), len(loops)))
        sums = elements.sum(axis=axes, dtype=zeros.dtype)
        values = products.evaluated(it.epilogue, sums, lambda n: view(n, data, results))[RESULT]
        right = [array.copy() for array in data]
        view(RESULT, right, results)[...] = values
        for vlen, hart in ((128, 128), (256, 256), (128, 512)):
            kernel = reduce.write(it, vlen)
            copies = [array.copy() for array in data]
            scratch = [np.full(kernel.scratch, 0x77, np.uint8)] if kernel.scratch else []
            machine = riscv.Machine(hart, [*copies, *scratch], writable={0, len(copies)})
            machine.run(kernel.text, kernel.arguments)
            with self.subTest(vlen=vlen, hart=hart):
                np.testing.assert_array_equal(copies[0], right[0])
                self.assertLessEqual(machine.written, set(kernel.clobbered))
                self.assertEqual(kernel.executed, machine.executed)

    def test_lanes_are_results(self) -> None:
        for dtype in (_FLOATS, _HALVES, _BYTES):
            it = self.read(_TEXT.format(**dtype, **_COLUMNS))
            width = WIDTHS[dtype["type"]]
            self.assertEqual(it.lanes, Loop(70, (0, 0, 4, width, 4)))
            self.assertEqual(it.summed, (Loop(5, (0, 0, 0, 70 * width, 0)),))
            self.assertFalse(it.across)
            self.agrees(it)

    def test_lanes_are_added_up(self) -> None:
        for dtype in (_FLOATS, _HALVES, _BYTES):
            it = self.read(_TEXT.format(**dtype, **_LINES))
            width = WIDTHS[dtype["type"]]
            self.assertEqual(it.lanes, Loop(70, (0, 0, 0, width, 0)))
            self.assertEqual(it.outer, (Loop(5, (0, 0, 4, 70 * width, 4)),))
            self.assertTrue(it.across)
            self.agrees(it)
            for old, new in (("5x", "1x"), ("{n}", "1"), ("5x", "40x")):
                rows = new.rstrip("x") if new != "1" else "1"
                text = _TEXT.replace("5x70", f"{rows}x70").replace("{n}", rows)
                with self.subTest(old=old, new=new):
                    self.agrees(self.read(text.format(**dtype, image="d0, d1")))

    def test_a_step_with_three_values_at_a_time(self) -> None:
        """They and the sum of lanes do not fit into groups of 8 registers."""
        three = """%p = arith.mulf %a, %c3 : f32
    %q = arith.addf %a, %c3 : f32
    %pq = arith.mulf %p, %q : f32
    %wide = arith.addf %pq, %a : f32"""
        self.agrees(self.read(_TEXT.format(**_FLOATS | {"wide": three}, **_LINES)))

    def test_windows(self) -> None:
        it = self.read(_WINDOWS)
        self.assertEqual(it.dtypes[RESULT:], ("f32", "f32"))
        self.assertEqual(it.lanes, Loop(12, (0, 0, 4, 4)))
        self.assertEqual(it.summed, (Loop(3, (0, 0, 0, 21 * 48)), Loop(3, (0, 0, 0, 48))))
        self.agrees(it)

    def test_zeros_of_another_operation(self) -> None:
        """As a tensor without the shape's axes of one element is filled."""
        fill = "linalg.fill ins(%c0 : f32) outs(%empty : tensor<4x10x12xf32>)"
        generic = """linalg.generic {
      indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%empty : tensor<4x10x12xf32>) {
  ^bb0(%old: f32):
    linalg.yield VALUE : f32
  }"""
        text = _WINDOWS.replace(fill, generic)
        self.assertEqual(self.read(text.replace("VALUE", "%c0")), self.read(_WINDOWS))
        with self.assertRaisesRegex(Unsupported, "computed initial values"):
            self.read(text.replace("VALUE", "%old"))

    def few(self, batch: int, rows: int, columns: int, bias: str = "f32") -> Reduction:
        """Returns products [rows, 20] x [20, columns], with something added that each row of a batch has."""
        dtypes = ("", "", "f32", "f32", "f32", bias)
        step = (
            Node("sum", "f32"),
            Node("load", "f32", operand=3),
            Node("load", "f32", operand=4),
            Node("mulf", "f32", (1, 2)),
            Node("addf", "f32", (0, 3)),
        )
        added = (Node("load", bias, operand=5), *([Node("sitofp", "f32", (1,))] * (bias != "f32")))
        behind = (Node("sum", "f32"), *added, Node("addf", "f32", (0, len(added))))
        width = WIDTHS[bias]
        loops = [
            Loop(batch, (0, 0, 4 * rows * columns, 80 * rows, 80 * columns, width * rows)),
            Loop(rows, (0, 0, 4 * columns, 80, 0, width)),
            Loop(columns, (0, 0, 4, 0, 4, 0)),
            Loop(20, (0, 0, 0, 4, 4 * columns, 0)),
        ]
        return reduction.arranged(dtypes, loops, {3}, step, behind)

    def test_lanes_are_all_results(self) -> None:
        for shape in ((16, 4, 4), (3, 5, 7), (1, 5, 6), (7, 1, 6), (40, 3, 3)):
            with self.subTest(shape=shape):
                it = self.few(*shape)
                self.assertEqual(it.lanes.extent, shape[0] * shape[1] * shape[2])
                self.assertEqual(it.outer, ())
                self.agrees(it)
        # Lanes that are neighbors everywhere, too few results, and bytes.
        self.assertEqual(self.few(12, 4, 16).lanes.extent, 16)
        self.assertTrue(self.few(1, 2, 3).across)
        self.assertEqual(self.few(16, 4, 4, "i8").grid, ())

    def test_a_step_of_products_and_a_row_of_blocks(self) -> None:
        """Lines that are multiplied with one line for all, in two parts each."""
        step = (
            Node("sum", "i32"),
            Node("load", "i8", operand=3),
            Node("extsi", "i32", (1,)),
            Node("load", "i8", operand=4),
            Node("extsi", "i32", (3,)),
            Node("muli", "i32", (2, 4)),
            Node("addi", "i32", (0, 5)),
        )
        loops = [
            Loop(3, (0, 0, 28, 2800, 0)),
            Loop(7, (0, 0, 4, 400, 0)),
            Loop(2, (0, 0, 0, 200, 150)),
            Loop(120, (0, 0, 0, 1, 1)),
        ]
        dtypes = ("", "", "i32", "i8", "i8")
        it = reduction.arranged(dtypes, loops, {2, 3}, step, [Node("sum", "i32")])
        self.assertTrue(it.across)
        self.assertEqual(it.outer, (Loop(21, (0, 0, 4, 400, 0)),))
        self.agrees(it)

    def test_anything_else(self) -> None:
        text = _TEXT.format(**_FLOATS, **_LINES)
        for reason, old, new in (
            ("a reduction by arith.mulf", "%r = arith.addf %old, %v", "%r = arith.mulf %old, %v"),
            ("a reduction by arith.addf", "arith.addf %old, %v", "arith.addf %v, %v"),
            ("an epilogue with math.log", "arith.subf %a, %c", "math.log %a"),
            ("too few elements", "70", "7"),
        ):
            with self.subTest(reason=reason), self.assertRaisesRegex(Unsupported, reason):
                self.read(text.replace(old, new))


if __name__ == "__main__":
    unittest.main()
