"""From MLIR to the plan: what small models come down to, and what is refused on the way."""

from __future__ import annotations

import dataclasses
import itertools
import unittest
from pathlib import Path

import support

from bmc import artifacts, target
from bmc.artifacts import TensorInfo
from bmc.dtype import DType
from bmc.elf.kernels import DispatchFunction, Kernels
from bmc.errors import InternalError
from bmc.facts.operands import Kernel, Operand, Written
from bmc.host.program import (
    Branch,
    Copy,
    Dispatch,
    Fill,
    HalCommand,
    HostFunction,
    HostProgram,
    Integer,
    Load,
    Run,
    Slab,
    Span,
    State,
    Storage,
    StorageKind,
    Variable,
    View,
)
from bmc.plan import build, tables
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
# The second kernel writes 96 bytes behind the start of the result.
_PARTS = """func.func @main(%x: tensor<24xf32>) -> tensor<48xf32> {
  %0 = stablehlo.sine %x : tensor<24xf32>
  %1 = stablehlo.cosine %x : tensor<24xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0
    : (tensor<24xf32>, tensor<24xf32>) -> tensor<48xf32>
  return %2 : tensor<48xf32>
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
_V = Variable(0, 32)
_STATE = Storage(StorageKind.STATE, 0, 256)
_TENSOR = TensorInfo("y", DType.F32, (16,))


def _planned(
    *entries: HostFunction,
    reset: tuple[HalCommand, ...] = (),
    code: Kernels | None = None,
    operands: dict[str, Kernel] | None = None,
) -> tables.Plan:
    """Returns the plan of a program with a state of 256 bytes and entries from _TENSORs to _TENSORs."""
    golden = artifacts.Golden((), (), (), None, 0, artifacts.GOLDEN_IREE_HOST)
    signatures = tuple(
        artifacts.Signature(e.name, (_TENSOR,) * len(e.inputs), (_TENSOR,) * len(e.outputs))
        for e in entries
    )
    model = artifacts.ImportedModel(Path(), "", "mlir", {}, signatures, golden, ())
    program = HostProgram(b"", (), (State("s", _STATE.length),), reset, entries)
    isa, none = target.find(support.ISA), PackedWeights(b"", {})
    return build.plan("m", isa, model, program, code, none, operands or {}, {})


class PlanTest(support.FolderTest):
    def plan(self, text: str, isa: str = support.ISA) -> tables.Plan:
        return support.lower_text(text, self.folder, isa).plan

    def test_elementwise(self) -> None:
        model = self.plan(support.ADD)
        (command,) = model.commands
        self.assertEqual(
            command.bindings,
            (
                Binding(Region.ARENA, 0, 64, Access.READ, 64),
                Binding(Region.ARENA, 64, 64, Access.WRITE, 64),
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
        weight = Binding(Region.WEIGHTS, 0, 32 * 64 * 4, Access.READ, 64)
        self.assertIn(weight, command.bindings)
        self.assertEqual(model.weights_bytes, 32 * 64 * 4)

    def test_padding_is_a_fill_and_a_copy(self) -> None:
        fill, copy = self.plan(_PAD).commands
        self.assertEqual(fill.kind, tables.CommandKind.FILL)
        self.assertEqual(fill.constants, (0x40000000, 4))
        self.assertEqual(fill.bindings, (Binding(Region.ARENA, 0, 256, Access.WRITE, 4),))
        self.assertEqual(copy.kind, tables.CommandKind.COPY)
        # 16 elements behind 16 elements of padding.
        self.assertEqual(
            copy.bindings,
            (
                Binding(Region.ARENA, 256, 64, Access.READ, 1),
                Binding(Region.ARENA, 64, 64, Access.WRITE, 1),
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
        self.assertEqual(len({tensor.offset for tensor in compiled.plan.outputs}), 3)

    def test_transients_share_memory(self) -> None:
        model = self.plan(_CHAIN)
        # The input, which every kernel reads, and two others in turns.
        self.assertEqual(model.arena_bytes, 3 * 1024)
        # The same kernel runs on different places.
        self.assertEqual([c.export_index for c in model.commands], [0, 1, 1, 1])
        self.assertEqual(len({c.bindings for c in model.commands[1:]}), 2)
        self.assertTrue(all(command.barrier for command in model.commands))


class DispatchTest(unittest.TestCase):
    def test_numbers_of_a_dispatch_keep_their_order(self) -> None:
        spans = (Span(_STATE, 128, 64), Span(_STATE, 0, 32), Span(_STATE, 64, 16))
        dispatch = Dispatch("second", (5, 6, 7), (1, Variable(4, 32), 3), spans)
        functions = (DispatchFunction("first", 0, 0, 0), DispatchFunction("second", 0, 3, 3))
        code = Kernels(b"", b"", 0, (), (), 0, 0, 8, functions, "")
        accesses = ((True, False), (False, True), (True, True))
        operands = tuple(
            Operand(i, 0, "f32", (), *access, overwrites=None, alignment=4 << i)
            for i, access in enumerate(accesses)
        )
        main = HostFunction("main", (), (), (), (dispatch,))
        plan = _planned(main, code=code, operands={"second": Kernel(operands, "", 0, "")})
        command = tables.Command(
            CommandKind.DISPATCH,
            True,
            1,
            (5, 6, 7),
            (1, 0, 3),
            (
                Binding(Region.STATE, 128, 64, Access.READ, 4),
                Binding(Region.STATE, 0, 32, Access.WRITE, 8),
                Binding(Region.STATE, 64, 16, Access.READ | Access.WRITE, 16),
            ),
            (tables.ConstantPatch(1, 4),),
        )
        self.assertEqual(plan.commands, (command,))


class EntryTest(support.FolderTest):
    def test_the_arena_is_large_enough_for_every_entry(self) -> None:
        def entry(name: str, length: int) -> HostFunction:
            span = Span(Storage(StorageKind.SLAB, 0, length), 0, length)
            return HostFunction(name, (), (), (Slab(length, 0, 1),), (Fill(span, 0, 4),))

        for lengths in ((64, 640, 64), (640, 64, 64)):
            plan = _planned(*(entry(f"e{index}", n) for index, n in enumerate(lengths)))
            self.assertEqual(plan.arena_bytes, 640)

    def test_an_entry_begins_behind_the_reset(self) -> None:
        fill = Fill(Span(_STATE, 0, 64), 0, 4)
        entries = (HostFunction(name, (), (), (), (fill,) * 2) for name in ("first", "second"))
        plan = _planned(*entries, reset=(fill,))
        self.assertEqual(plan.reset_count, 1)
        self.assertEqual(
            [(e.first_command, e.command_count) for e in plan.entries], [(1, 2), (3, 2)]
        )

    def test_a_load_may_read_all_of_its_storage(self) -> None:
        driver = (Branch(_V, (), (Load(_V, Span(_STATE, 128, 4)),)),)
        plan = _planned(HostFunction("main", (), (), (), (), driver, variable_bits=(32,)))
        place = tables.LoadPlace(Region.STATE, 0, _STATE.length, 128, 4)
        self.assertEqual(plan.entries[0].loads, {0: place})

    def test_a_pattern_of_the_drivers(self) -> None:
        fill = Fill(Span(_STATE, 0, 64), Variable(3, 32), 4)
        main = HostFunction("main", (), (), (), (fill,), variable_bits=(32,) * 4)
        (command,) = _planned(main).commands
        self.assertEqual((*command.constants, *command.patches), (0, 4, tables.ConstantPatch(0, 3)))

    def test_a_pattern_of_8_bytes_must_be_one_of_4(self) -> None:
        def constants(pattern: int) -> tuple[int, ...]:
            fill = Fill(Span(_STATE, 0, 64), pattern, 8)
            (command,) = _planned(HostFunction("main", (), (), (), (fill,))).commands
            self.assertEqual(command.bindings[0].alignment, 4)
            return command.constants

        self.assertEqual(constants(0x7_0000_0007), (7, 4))
        for pattern in (7, 0x7_0000_0000):
            self.refuses("unsupported-host-op", "8-byte", call=lambda p=pattern: constants(p))


class LifetimeTest(unittest.TestCase):
    """With a driver, slabs and their lives are those of the host program."""

    def plan(self, *lives: tuple[int, int], output: int | None = None) -> tables.Plan:
        """Returns a plan of slabs of 64 bytes that live from one command up to another."""
        spans = [Span(Storage(StorageKind.SLAB, number, 64), 0, 64) for number in range(len(lives))]
        outputs = () if output is None else (View(spans[output], _TENSOR.dtype, _TENSOR.shape),)
        fills = tuple(Fill(span, 0, 4) for span in spans)
        slabs = tuple(Slab(64, first, end) for first, end in lives)
        return _planned(HostFunction("main", (), outputs, slabs, fills, (Run(0, len(fills)),)))

    def offsets(self, *lives: tuple[int, int], output: int | None = None) -> list[int]:
        return [c.bindings[0].offset for c in self.plan(*lives, output=output).commands]

    def test_slabs_that_both_live_during_a_command_are_apart(self) -> None:
        self.assertEqual(self.offsets((0, 2), (1, 3)), [0, 64])
        self.assertEqual(self.offsets((1, 3), (0, 2)), [0, 64])
        self.assertEqual(self.offsets((0, 3), (1, 2)), [0, 64])
        self.assertEqual(self.offsets((0, 2), (1, 3), (2, 4)), [0, 64, 0])

    def test_a_slab_takes_the_place_of_one_that_has_been_freed(self) -> None:
        self.assertEqual(self.offsets((0, 2), (2, 3)), [0, 0])
        self.assertEqual(self.offsets((2, 3), (0, 2)), [0, 0])

    def test_an_output_shares_its_place_with_nothing(self) -> None:
        for output in (0, 1):
            self.assertEqual(self.offsets((0, 1), (1, 2), output=output), [0, 64])


class InputTest(unittest.TestCase):
    def plan(self, *driver: Run) -> tables.Plan:
        """Returns a plan whose last copy goes from a slab to the output."""
        storages = [Storage(StorageKind.SLAB, number, 64) for number in range(2)]
        spans = [Span(s, 0, 64) for s in (Storage(StorageKind.INPUT, 0, 64), *storages)]
        copies = tuple(Copy(a, b) for a, b in itertools.pairwise(spans))
        source, _, result = (View(span, _TENSOR.dtype, _TENSOR.shape) for span in spans)
        slabs = (Slab(64, 0, 2), Slab(64, 0, 2))
        return _planned(HostFunction("main", (source,), (result,), slabs, copies, driver))

    def places(self, *driver: Run) -> tuple[int, int]:
        """Returns where the input and the output are."""
        plan = self.plan(*driver)
        return plan.inputs[0].offset, plan.outputs[0].offset

    def test_an_output_takes_the_place_of_an_input_that_nothing_reads_any_more(self) -> None:
        self.assertEqual(self.places(), (0, 0))

    def test_the_plan_says_when_its_tensors_are_alive(self) -> None:
        (entry,) = self.plan().entries
        # The input, a slab between two copies, and the output, which is read after both.
        lives = ((0, 64, 0, 1), (64, 64, 0, 2), (0, 64, 1, 3))
        self.assertEqual(entry.lives, tuple(tables.Life(Region.ARENA, *life) for life in lives))

    def test_with_a_driver_they_are_apart(self) -> None:
        self.assertEqual(self.places(Run(0, 2)), (0, 128))


class OverwritesTest(unittest.TestCase):
    """Two kernels, one after the other, write a slab that was filled."""

    def lives(self, *operands: Operand) -> int:
        """Returns the bytes of the arena."""
        spans = [Span(Storage(StorageKind.SLAB, n, 64), 0, 64) for n in range(2)]
        kernel = Dispatch("k", (1, 1, 1), (), (spans[0],))
        commands = (
            Fill(spans[0], 0, 4),
            Copy(spans[0], Span(_STATE, 0, 64)),
            Fill(spans[1], 0, 4),
            Copy(spans[1], Span(_STATE, 0, 64)),
            kernel,
            Copy(spans[0], Span(_STATE, 0, 64)),
        )
        main = HostFunction("main", (), (), (Slab(64, 0, 6), Slab(64, 0, 6)), commands)
        code = Kernels(b"", b"", 0, (), (), 0, 0, 8, (DispatchFunction("k", 0, 0, 1),), "")
        plan = _planned(main, code=code, operands={"k": Kernel(operands, "", 0, "")})
        return plan.arena_bytes

    def test_only_a_kernel_that_writes_all_of_a_binding_begins_a_tensor(self) -> None:
        whole = Operand(0, 0, "f32", (16,), False, True, Written(64, 64, 0, 64), alignment=64)
        self.assertEqual(self.lives(whole), 64)
        for part in (
            dataclasses.replace(whole, overwrites=None),
            dataclasses.replace(whole, overwrites=Written(60, 60, 0, 60)),
            dataclasses.replace(whole, overwrites=Written(64, 16, 0, 12)),
        ):
            self.assertEqual(self.lives(part), 128)
        self.assertEqual(self.lives(whole, whole), 128)


class AlignmentTest(support.FolderTest):
    def test_a_part_that_is_written_where_it_ends_up_keeps_what_its_kernel_relies_on(self) -> None:
        plan = support.lower_text(_PARTS, self.folder).plan
        result = plan.outputs[0].offset
        written = {
            binding.offset - result: binding.alignment
            for command in plan.commands
            for binding in command.bindings
            if command.kind is CommandKind.DISPATCH and binding.access is Access.WRITE
        }
        self.assertEqual((written[0], written[96]), (64, 32))


class OverlapTest(support.FolderTest):
    def test_until_it_is_known_a_place_overlaps_nothing(self) -> None:
        def offsets(start: Integer, end: Integer) -> list[int]:
            copy = Copy(Span(_STATE, start, 16), Span(_STATE, end, 16))
            main = HostFunction("main", (), (), (), (copy,), (Run(0, 1),), variable_bits=(64,))
            return [binding.offset for binding in _planned(main).commands[0].bindings]

        v = Variable(0, 64)
        self.assertEqual(offsets(0, v), [0, 16])
        self.assertEqual(offsets(8, v), [8, 24])
        self.assertEqual(offsets(16, v), [16, 0])
        self.assertEqual(offsets(v, 8), [24, 8])
        self.assertEqual(offsets(v, v), [0, 16])
        # A known place is unchanged, and refused.
        with self.assertRaisesRegex(InternalError, "command 0 copies within what it reads"):
            offsets(0, 8)

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
