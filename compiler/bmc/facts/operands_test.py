"""Tests what report.json says about the bindings of kernels (facts/operands.py)."""

from __future__ import annotations

import unittest

import support
from iree.compiler import ir

from bmc.facts import operands
from bmc.facts.operands import Written
from bmc.ir import ir_util

_TWO_STEPS = """func.func @main(%x: tensor<4x32xf32>) -> (tensor<4x64xf32>, tensor<4x64xi1>) {
  %w = stablehlo.constant dense<0.5> : tensor<32x64xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4x32xf32>, tensor<32x64xf32>) -> tensor<4x64xf32>
  %1 = stablehlo.compare GT, %0, %0 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xi1>
  return %0, %1 : tensor<4x64xf32>, tensor<4x64xi1>
}
"""
# The kernel reads the elements that it writes.
_IN_PLACE = """func.func @main(%x: tensor<8xi32>, %n: tensor<4x1xi32>, %u: tensor<4xi32>) -> tensor<8xi32> {
  %first = stablehlo.constant dense<0> : tensor<i32>
  %last = stablehlo.constant dense<7> : tensor<i32>
  %i = stablehlo.clamp %first, %n, %last : (tensor<i32>, tensor<4x1xi32>, tensor<i32>) -> tensor<4x1xi32>
  %0 = stablehlo.add %x, %x : tensor<8xi32>
  %1 = "stablehlo.scatter"(%0, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %sum = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %sum : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}
    : (tensor<8xi32>, tensor<4x1xi32>, tensor<4xi32>) -> tensor<8xi32>
  return %1 : tensor<8xi32>
}
"""
# One kernel copies columns.
_SLICE = """func.func @main(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.slice %x [0:4, 2:5] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
"""
# Kernels copy columns of a table.
_JOINED = """func.func @main(%x: tensor<4x3xf32>, %y: tensor<4x5xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
"""
# The kernel writes rows in the middle of a padded result.
_MIDDLE = """func.func @main(%x: tensor<4x4xf32>) -> tensor<6x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.add %x, %x : tensor<4x4xf32>
  %1 = stablehlo.pad %0, %z, low = [1, 2], high = [1, 2], interior = [0, 0]
    : (tensor<4x4xf32>, tensor<f32>) -> tensor<6x8xf32>
  return %1 : tensor<6x8xf32>
}
"""


class OperandsTest(support.FolderTest):
    def test_what_is_updated_in_place_is_read_and_written(self) -> None:
        kernels = support.lower_text(_IN_PLACE, self.folder).lowered.operands
        scatter = next(kernel for name, kernel in kernels.items() if "scatter" in name)
        accesses = [(o.reads, o.writes) for o in scatter.operands]
        self.assertEqual(accesses, [(True, False), (True, False), (True, True)])

    def test_only_a_result_that_is_stored_whole_is_overwritten(self) -> None:
        kernels = support.lower_text(_IN_PLACE, self.folder).lowered.operands
        found = {
            name.partition("_dispatch_")[2][2:]: [o.overwrites for o in kernel.operands]
            for name, kernel in kernels.items()
        }
        self.assertEqual(
            found,
            {
                "elementwise_4_i32": [None, Written(16, 16, 0, 16)],
                "elementwise_8_i32": [None, Written(32, 32, 0, 32)],
                "scatter_8xi32_dispatch_tensor_store": [None] * 3,
            },
        )

    def test_a_result_stored_into_the_middle_of_a_buffer_does_not_overwrite_it(self) -> None:
        kernels = support.lower_text(_MIDDLE, self.folder).lowered.operands
        ((*_, result),) = (kernel.operands for kernel in kernels.values())
        self.assertEqual((result.writes, result.shape, result.overwrites), (True, (6, 8), None))

    def test_a_copy_of_a_slice_overwrites_its_result(self) -> None:
        kernels = support.lower_text(_SLICE, self.folder).lowered.operands
        copies = [k.operands for name, k in kernels.items() if "memcpy" in name]
        self.assertEqual(
            [[o.overwrites for o in copy] for copy in copies], [[None, Written(48, 48, 0, 48)]]
        )

    def test_a_part_of_a_concatenation_overwrites_columns(self) -> None:
        kernels = support.lower_text(_JOINED, self.folder).lowered.operands
        found = [k.operands[-1].overwrites for k in kernels.values() if len(k.operands) == 2]
        rows = (4 * 8 * 4, 8 * 4)
        self.assertIn(Written(*rows, 0, 3 * 4), found)
        self.assertIn(Written(*rows, 3 * 4, 8 * 4), found)

    def test_alignment_is_what_iree_states_and_single_elements_need(self) -> None:
        text = """func.func @f() {
          %zero = arith.constant 0 : index
          %a = hal.interface.binding.subspan layout(<bindings = [
              #hal.pipeline.binding<storage_buffer>]>) binding(0) ATTRIBUTE offset(%zero)
              : memref<16xELEMENT>
          return
        }
        """
        for attribute, element, alignment in (
            ("alignment(32)", "f32", 32),
            ("alignment(1)", "f32", 4),
            ("alignment(1)", "i8", 1),
            ("", "i16", 2),
            ("", "i1", 1),
            ("", "complex<f32>", 8),
        ):
            with ir.Context(), ir.Location.unknown():
                module = ir.Module.parse(
                    text.replace("ATTRIBUTE", attribute).replace("ELEMENT", element)
                )
                (op,) = ir_util.all_of(module, "hal.interface.binding.subspan")
                self.assertEqual(operands.alignment(op), alignment, (attribute, element))

    def test_shapes_types_and_directions(self) -> None:
        report = support.compile_text(_TWO_STEPS, self.folder)
        product = next(d for d in report["dispatches"] if "matmul" in d["op"])
        read = [o for o in product["operands"] if not o["writes"]]
        written = [o for o in product["operands"] if o["writes"]]
        self.assertIn([4, 32], [o["shape"] for o in read])
        self.assertEqual(
            [(o["dtype"], o["shape"], o["offset"]) for o in written][0], ("f32", [4, 64], 0)
        )
        for dispatch in report["dispatches"]:
            bindings = {o["binding"] for o in dispatch["operands"]}
            self.assertLessEqual(max(bindings), dispatch["bindings"] - 1)
            self.assertTrue(any(o["writes"] for o in dispatch["operands"]), dispatch)

    def test_products_are_counted(self) -> None:
        report = support.compile_text(_TWO_STEPS, self.folder)
        by_op = {d["op"].partition("_")[0]: d for d in report["dispatches"]}
        self.assertEqual(
            (by_op["matmul"]["macs"], by_op["matmul"]["accumulator"]), (4 * 64 * 32, "f32")
        )
        self.assertEqual(report["macs"], {"main": sum(d["macs"] for d in report["dispatches"])})
        others = [d for d in report["dispatches"] if d is not by_op["matmul"]]
        self.assertTrue(others)
        self.assertEqual({(d["macs"], d["accumulator"]) for d in others}, {(0, "")})

    def test_source_is_the_line_of_the_model(self) -> None:
        report = support.compile_text(_TWO_STEPS, self.folder)
        product = next(d for d in report["dispatches"] if "matmul" in d["op"])
        self.assertEqual(product["source"], "source.mlir:3")


if __name__ == "__main__":
    unittest.main()
