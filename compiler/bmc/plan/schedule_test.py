"""From MLIR to the plan: what small models come down to, and what is refused on the way."""

from __future__ import annotations

import dataclasses
import unittest
from pathlib import Path

import support

from bmc import artifacts, target
from bmc.errors import InternalError
from bmc.host.program import (
    Copy,
    Entry,
    HostProgram,
    Integer,
    Run,
    Span,
    State,
    Storage,
    StorageKind,
    Variable,
)
from bmc.plan import schedule, tables
from bmc.plan.tables import Access, Binding, CommandKind, Region
from bmc.plan.weights import PackedWeights

_MODELS = Path(__file__).parents[3] / "models/control"
_IDENTITY = """func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  return %x : tensor<16xf32>
}
"""
_MATMUL = """func.func @main(%x: tensor<4x32xf32>) -> tensor<4x64xf32> {
  %w = stablehlo.constant dense<1.5> : tensor<32x64xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4x32xf32>, tensor<32x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
"""
_PAD = """func.func @main(%x: tensor<16xf32>) -> tensor<64xf32> {
  %z = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.pad %x, %z, low = [16], high = [32], interior = [0]
    : (tensor<16xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
"""
_CONCATENATE = """func.func @main(%x: tensor<16xf32>, %y: tensor<32xf32>) -> tensor<48xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0
    : (tensor<16xf32>, tensor<32xf32>) -> tensor<48xf32>
  return %0 : tensor<48xf32>
}
"""
_THREE_OUTPUTS = """func.func @main(%x: tensor<16xf32>)
    -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0 = stablehlo.add %x, %x : tensor<16xf32>
  return %0, %x, %0 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
"""
_PRODUCT = "stablehlo.dot_general %{}, %x, contracting_dims = [1] x [0] : ({}, {}) -> {}"
_SQUARE = "tensor<16x16xf32>"
_CHAIN = "\n".join(
    (
        f"func.func @main(%x: {_SQUARE}) -> {_SQUARE} {{",
        *(
            f"  %{i} = {_PRODUCT.format(i - 1 if i else 'x', _SQUARE, _SQUARE, _SQUARE)}"
            for i in range(4)
        ),
        f"  return %3 : {_SQUARE}",
        "}",
    )
)


class PlanTest(support.FolderTest):
    def plan(self, text: str, isa: str = support.ISA) -> tables.Plan:
        return support.lower_text(text, self.folder, isa).plan

    def test_elementwise(self) -> None:
        model = self.plan(support.ADD)
        (command,) = model.commands
        self.assertEqual(
            command.bindings,
            (
                Binding(Region.ARENA, 0, 64, Access.READ),
                Binding(Region.ARENA, 64, 64, Access.WRITE),
            ),
        )
        self.assertEqual(command.workgroups, (1, 1, 1))
        self.assertEqual(model.exports[0].name, "main_dispatch_0_elementwise_16_f32")
        self.assertEqual((model.arena_bytes, model.weights_bytes), (128, 0))
        self.assertEqual((model.inputs[0].offset, model.outputs[0].offset), (0, 64))
        self.assertEqual((model.isa_bits, model.vlen_bits), (3, 256))

    def test_instruction_set_of_the_plan(self) -> None:
        for isa, bits, vlen in (("rv64gc", 1, 0), ("x86_64", 4, 0)):
            model = self.plan(support.ADD, isa)
            self.assertEqual((model.isa_bits, model.vlen_bits), (bits, vlen))

    def test_matmul_reads_its_weight_in_place(self) -> None:
        model = self.plan(_MATMUL)
        (command,) = model.commands
        self.assertIn(Binding(Region.WEIGHTS, 0, 32 * 64 * 4, Access.READ), command.bindings)
        self.assertEqual(model.weights_bytes, 32 * 64 * 4)

    def test_padding_is_a_fill_and_a_copy(self) -> None:
        fill, copy = self.plan(_PAD).commands
        self.assertEqual(fill.kind, tables.CommandKind.FILL)
        self.assertEqual(fill.constants, (0x40000000, 4))
        self.assertEqual(fill.bindings, (Binding(Region.ARENA, 64, 256, Access.WRITE),))
        self.assertEqual(copy.kind, tables.CommandKind.COPY)
        # 16 elements behind 16 elements of padding.
        self.assertEqual(
            copy.bindings,
            (
                Binding(Region.ARENA, 0, 64, Access.READ),
                Binding(Region.ARENA, 128, 64, Access.WRITE),
            ),
        )

    def test_concatenation_is_two_copies(self) -> None:
        model = self.plan(_CONCATENATE)
        first, second = (command.bindings for command in model.commands)
        result = model.outputs[0].offset
        self.assertEqual([b.length for b in first], [64, 64])
        self.assertEqual([b.length for b in second], [128, 128])
        self.assertEqual((first[1].offset, second[1].offset), (result, result + 64))
        self.assertEqual(model.exports, ())

    def test_identity_is_one_copy(self) -> None:
        model = self.plan(_IDENTITY)
        (command,) = model.commands
        self.assertEqual(command.kind, tables.CommandKind.COPY)
        self.assertNotEqual(model.inputs[0].offset, model.outputs[0].offset)

    def test_outputs_never_share_memory(self) -> None:
        compiled = support.lower_text(_THREE_OUTPUTS, self.folder)
        self.assertEqual(compiled.kinds, ["DISPATCH", "COPY", "COPY"])
        tensors = (*compiled.plan.inputs, *compiled.plan.outputs)
        self.assertEqual(len({tensor.offset for tensor in tensors}), 4)

    def test_transients_share_memory(self) -> None:
        model = self.plan(_CHAIN)
        self.assertEqual(len(model.commands), 4)
        # Input, output and two transients in turns, not three.
        self.assertEqual(model.arena_bytes, 4 * 1024)
        # The same kernel runs on different places, told apart by push constants.
        self.assertEqual([c.export_index for c in model.commands], [0, 1, 1, 1])
        self.assertEqual(len({c.constants for c in model.commands[1:]}), 3)
        self.assertTrue(all(command.barrier for command in model.commands))

    def test_verify_finds_what_build_must_not_do(self) -> None:
        good = self.plan(support.ADD)
        schedule.verify(good)
        command = good.commands[0]
        binding = command.bindings[0]
        for bad in (
            dataclasses.replace(binding, offset=128),
            dataclasses.replace(binding, region=Region.WEIGHTS),
            dataclasses.replace(binding, offset=32, length=32),
        ):
            with self.assertRaises(InternalError, msg=str(bad)):
                self.verify(good, dataclasses.replace(command, bindings=(bad, binding)))
        with self.assertRaises(InternalError):
            self.verify(good, dataclasses.replace(command, bindings=(binding,)))
        with self.assertRaises(InternalError):
            self.verify(good, dataclasses.replace(command, constants=(1,)))
        with self.assertRaises(InternalError):
            schedule.verify(dataclasses.replace(good, arena_bytes=64))

    def verify(self, good: tables.Plan, command: tables.Command) -> None:
        schedule.verify(dataclasses.replace(good, commands=(command,)))


class OverlapTest(support.FolderTest):
    def test_until_it_is_known_a_place_overlaps_nothing(self) -> None:
        storage = Storage(StorageKind.STATE, 0, 64)
        golden = artifacts.Golden((), (), (), None, 0, artifacts.GOLDEN_IREE_HOST)
        model = artifacts.ImportedModel(
            Path(), "", "mlir", {}, (artifacts.Signature("main", (), ()),), golden, ()
        )
        isa = target.find(support.ISA)

        def offsets(start: Integer, end: Integer) -> list[int]:
            copy = Copy(Span(storage, start, 16), Span(storage, end, 16), True)
            main = Entry("main", (), (), (), (copy,), (Run(0, 1),), variable_bits=(64,))
            program = HostProgram(b"", (), (State("s", 64),), (), (main,))
            plan = schedule.build("m", isa, model, program, None, PackedWeights(b"", {}), {})
            return [binding.offset for binding in plan.commands[0].bindings]

        v = Variable(0, 64)
        self.assertEqual(offsets(0, v), [0, 16])
        self.assertEqual(offsets(8, v), [8, 24])
        self.assertEqual(offsets(16, v), [16, 0])
        self.assertEqual(offsets(v, 8), [24, 8])
        self.assertEqual(offsets(v, v), [0, 16])
        # A known place is unchanged, and refused.
        with self.assertRaisesRegex(InternalError, "command 0 copies within what it reads"):
            offsets(0, 8)

    def test_a_true_overlap_is_refused(self) -> None:
        bindings = tuple(
            tables.Binding(Region.STATE, offset, 16, access)
            for offset, access in ((0, Access.READ), (15, Access.WRITE))
        )
        command = tables.Command(CommandKind.COPY, True, 0, (0, 0, 0), (), bindings)
        model = tables.Plan("m", 0, 0, 0, 0, (), (command,), (), state_bytes=64)
        with self.assertRaisesRegex(InternalError, "command 0 copies within what it reads"):
            schedule.verify(model)

    def test_a_tensor_that_moves_within_itself_goes_by_way_of_another(self) -> None:
        text = (_MODELS / "shift.mlir").read_text(encoding="utf-8")
        plan = support.lower_text(text, self.folder).plan
        away, back = plan.commands[:2]
        self.assertEqual((away.kind, back.kind), (CommandKind.COPY, CommandKind.COPY))
        between = dataclasses.replace(away.bindings[1], access=Access.READ)
        self.assertEqual(between, back.bindings[0])
        # It moves down by a row of 32 bytes.
        moved = back.bindings[1].offset - away.bindings[0].offset
        self.assertEqual((moved, away.bindings[0].length), (32, 160))


if __name__ == "__main__":
    unittest.main()
