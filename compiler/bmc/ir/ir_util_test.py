"""Tests the helpers over IREE's Python bindings."""

from __future__ import annotations

import unittest

from iree.compiler import ir

from bmc.ir import ir_util


class PlaceTest(unittest.TestCase):
    def place(self, *locations: str) -> str:
        """Returns the place of operations with these locations."""
        lines = [
            f"  %{number} = arith.constant 0 : i32 loc({location})"
            for number, location in enumerate(locations)
        ]
        text = "\n".join(("func.func @main() {", *lines, "  return", "}"))
        with ir.Context():
            return ir_util.place(ir_util.all_of(ir.Module.parse(text), "arith.constant"))

    def test_lines_of_the_model_come_first(self) -> None:
        model, library = '"model.py":12:3', '"<python>/torch/nn.py":7:1'
        self.assertEqual(self.place(f"callsite({library} at {model})"), "model.py:12")
        self.assertEqual(self.place(library, model), "model.py:12")
        self.assertEqual(self.place(library), "torch/nn.py:7")
        self.assertEqual(self.place('"node"', library), "torch/nn.py:7")

    def test_a_name_is_better_than_nothing(self) -> None:
        self.assertEqual(self.place('"layer1/conv"'), "layer1/conv")
        self.assertEqual(self.place("unknown"), "")


class DefinitionTest(unittest.TestCase):
    def test_constants_and_what_computes_a_value(self) -> None:
        with ir.Context():
            module = ir.Module.parse("""
              func.func @main(%x: f32) {
                %half = arith.constant 0.5 : f32
                %two = arith.constant 2 : i32
                %sum = arith.addf %x, %half : f32
                return
              }""")
            half, two, total = (
                op.operation.results[0]
                for op in list(module.body.operations[0].regions[0].blocks[0].operations)[:3]
            )
            self.assertEqual(
                [ir_util.float_constant(v) for v in (half, two, total)], [0.5, None, None]
            )
            names = ("arith.addf", "arith.subf")
            found = [ir_util.defined_by(v, *names) for v in (half, total, total.owner.operands[0])]
            self.assertEqual([op and op.name for op in found], [None, "arith.addf", None])
            ir_util.erase_unread([total.owner, half.owner])
            self.assertEqual(len(list(ir_util.walk(module.operation))), 3)


class BytesTest(unittest.TestCase):
    def test_of_tensors(self) -> None:
        for kind, count in (
            ("2x3xf32", 24), ("5xi1", 5), ("3xi8", 3), ("4xf64", 32), ("4xcomplex<f32>", 32), ("f16", 2),
        ):  # fmt: skip
            with ir.Context():
                self.assertEqual(ir_util.tensor_bytes(ir.Type.parse(f"tensor<{kind}>")), count)


class LayerTest(unittest.TestCase):
    def layer(self, location: str) -> str:
        """Returns the layer of an operation with this location."""
        text = f"func.func @main() {{\n  return loc({location})\n}}"
        with ir.Context():
            return ir_util.layer(ir_util.all_of(ir.Module.parse(text), "func.return")[0])

    def test_the_module_that_the_frontend_wrote_comes_first(self) -> None:
        module, library = '"<layer>/encoder.0 (Linear)":0:0', '"<python>/torch/nn.py":7:1'
        self.assertEqual(self.layer(f"callsite({library} at {module})"), "encoder.0 (Linear)")
        with ir.Context():
            text = f"func.func @main() {{\n  return loc(callsite({library} at {module}))\n}}"
            returned = ir_util.all_of(ir.Module.parse(text), "func.return")
            self.assertEqual(ir_util.place(returned), "torch/nn.py:7")

    def test_names_of_frameworks(self) -> None:
        names = "functional_1/conv2d/Relu;functional_1/conv2d/BiasAdd"
        self.assertEqual(self.layer(f'"{names}"("a.tflite":0:0)'), "functional_1/conv2d/Relu")
        self.assertEqual(self.layer('"PartitionedCall/lstm/MatMul"'), "lstm/MatMul")
        self.assertEqual(self.layer('callsite("Conv_3" at "main"("a.onnx":0:0))'), "Conv_3")

    def test_a_line_is_no_layer(self) -> None:
        self.assertEqual(self.layer('"model.py":12:3'), "")
        self.assertEqual(self.layer('callsite("a.mlir":1:2 at "main"("a.mlir":0:0))'), "")
        self.assertEqual(self.layer("unknown"), "")


class WalkTest(unittest.TestCase):
    TEXT = """
func.func @main(%x: tensor<4xf32>, %go: i1) -> tensor<4xf32> {
  %n = arith.constant 7 : index
  %0 = scf.if %go -> tensor<4xf32> {
    %1 = arith.addf %x, %x : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
"""

    def test_outer_operations_come_before_inner_ones(self) -> None:
        with ir.Context():
            module = ir.Module.parse(self.TEXT)
            found = [op.name.rpartition(".")[2] for op in ir_util.walk(module.operation)]
        wanted = ["func", "constant", "if", "addf", "yield", "yield", "return"]
        self.assertEqual(found, wanted)

    def test_values(self) -> None:
        with ir.Context():
            module = ir.Module.parse(self.TEXT)
            (function,) = ir_util.all_of(module, "func.func")
            self.assertEqual(ir_util.string(function, "sym_name"), "main")
            x = function.regions[0].blocks[0].arguments[0]
            uses = [(op.name, operand) for op, operand in ir_util.uses(x)]
            self.assertCountEqual(uses, [("arith.addf", 0), ("arith.addf", 1), ("scf.yield", 0)])
            (seven,) = ir_util.all_of(module, "arith.constant")
            self.assertEqual(ir_util.constant(seven.results[0]), 7)
            (total,) = ir_util.all_of(module, "arith.addf")
            self.assertIsNone(ir_util.constant(total.results[0]))
            self.assertIsNone(ir_util.constant(x))

    def test_bytes_of_a_tensor(self) -> None:
        with ir.Context():
            for text, count in (
                ("tensor<3x5xf32>", 60),
                ("tensor<3x5xi8>", 15),
                ("tensor<9xi1>", 9),
                ("tensor<f64>", 8),
                ("tensor<0x4xf32>", 0),
            ):
                self.assertEqual(ir_util.tensor_bytes(ir.Type.parse(text)), count, text)


if __name__ == "__main__":
    unittest.main()
