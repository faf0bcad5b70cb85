"""From MLIR to the plan: what small models come down to, and what is refused on the way."""

from __future__ import annotations

import dataclasses
import unittest
from unittest import mock

import support

from bmc import artifacts
from bmc.errors import InternalError
from bmc.host import evaluate
from bmc.iree import phases
from bmc.plan import schedule, tables
from bmc.plan.tables import Access, Binding, Region
from bmc.rewrites.context import States

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
_CONSTANT_WORK = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = stablehlo.sine %a : tensor<4xf32>
  %c = stablehlo.dot_general %b, %b, contracting_dims = [] x []
    : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %d = stablehlo.dot_general %x, %c, contracting_dims = [0] x [0]
    : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}
"""


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


class InitializationTest(support.FolderTest):
    def test_kernels_do_not_run_at_initialization(self) -> None:
        # Without bmc's flags IREE leaves this work on constants to the target.
        with (
            mock.patch.object(phases, "_HOIST_EARLY", "--iree-opt-const-eval=false"),
            mock.patch.object(phases, "HOIST_NO_MORE", "--iree-opt-const-eval=false"),
        ):
            self.refuses(
                "init-work",
                "while it initializes",
                "_dispatch_0",
                call=lambda: support.lower_text(_CONSTANT_WORK, self.folder),
            )
        compiled = support.lower_text(_CONSTANT_WORK, self.folder)
        self.assertEqual(set(compiled.kinds), {"DISPATCH"})


class HostProgramTest(support.FolderTest):
    """Host programs in the VM dialect, written by hand."""

    def run_vm(self, body: str, declarations: str = "") -> None:
        text = f"""vm.module public @model {{
  {declarations}
  vm.export @main
  vm.func private @main() {{
    {body}
    vm.return
  }}
}}
"""
        evaluate.run(self.write("vm.mlir", text), artifacts.main_signature((), ()), States())

    def test_arithmetic_and_branches_are_carried_out(self) -> None:
        self.run_vm(
            """%one = vm.const.i32 1
    %two = vm.add.i32 %one, %one : i32
    %is_two = vm.cmp.eq.i32 %two, %two : i32
    vm.cond_br %is_two, ^good, ^bad
  ^bad:
    %status = vm.const.i32 3
    vm.fail %status, "arithmetic is broken"
  ^good:"""
        )

    def test_failure_of_the_program_is_reported(self) -> None:
        body = '%status = vm.const.i32 3\n    vm.fail %status, "wrong device"\n  ^dead:'
        self.refuses("host-program", "wrong device", call=lambda: self.run_vm(body))

    def test_unknown_operation_is_named(self) -> None:
        body = "%a = vm.const.i32 6\n    %b = vm.div.i32.s %a, %a : i32"
        self.refuses("unsupported-host-op", "'vm.div.i32.s'", call=lambda: self.run_vm(body))

    def test_unknown_import_is_named(self) -> None:
        body, declaration = "vm.call @custom.poke() : () -> ()", "vm.import private @custom.poke()"
        self.refuses(
            "unsupported-host-op", "'custom.poke'", call=lambda: self.run_vm(body, declaration)
        )

    def test_endless_loop_ends(self) -> None:
        loop = "vm.br ^again\n  ^again:\n    vm.br ^again\n  ^dead:"
        self.refuses("host-program", "never ends", call=lambda: self.run_vm(loop))
        initializer = f"vm.func private @__init() {{\n{loop}\n    vm.return\n  }}"
        with mock.patch("bmc.host.vm._STEP_LIMIT", 1000):
            self.refuses(
                "host-program", "more than 1000 steps", call=lambda: self.run_vm("", initializer)
            )

    def test_state_that_is_no_tensor_is_refused(self) -> None:
        body = "%a = vm.const.i32 1\n    vm.global.store.i32 %a, @counter : i32"
        declaration = "vm.global.i32 private mutable @counter : i32"
        self.refuses("unsupported-host-op", "@counter", call=lambda: self.run_vm(body, declaration))

    def test_no_main(self) -> None:
        path = self.write("vm.mlir", "vm.module public @model {\n}\n")
        self.refuses(
            "no-main", call=lambda: evaluate.run(path, artifacts.main_signature((), ()), States())
        )


if __name__ == "__main__":
    unittest.main()
