"""Tests the HAL's imports: the commands they record, and the programs they refuse."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import support

from bmc.host.hal import Hal
from bmc.host.program import (
    Copy,
    Dispatch,
    Fill,
    Integer,
    Let,
    Span,
    Storage,
    StorageKind,
    Variable,
)
from bmc.host.recorder import EntryRecorder

_INPUT, _OUTPUT = (
    Span(Storage(kind, 0, 256), 0, 256) for kind in (StorageKind.INPUT, StorageKind.SLAB)
)
_UNKNOWN = Variable(0, 64)


class HalTest(support.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.hal = Hal()
        self.recorder = EntryRecorder()
        self.hal.begin(self.recorder)

    def call(self, name: str, *arguments: Any, hal: Hal | None = None) -> Any:
        """Calls an import; returns its result, None if it has none."""
        results = (hal or self.hal).imports()[f"hal.{name}"](*arguments)
        return results[0] if results else None

    def execute(self, commands: object, *table: tuple[Span, int, int]) -> None:
        arguments = ("device", 0, "wait", "signal", commands, 0, table)
        self.call("device.queue.execute.indirect", *arguments)

    def fill(self, commands: object, offset: int, buffer: Span | None = _OUTPUT) -> None:
        """Records a fill of 16 bytes, of slot 0 if there is no buffer."""
        self.call("command_buffer.fill_buffer", commands, buffer, offset, 16, 0, 0x107, 1, 0)

    def dispatch(self, commands: object, workgroups: Integer = 2) -> None:
        bindings = [(0, 0, _INPUT, 0, 64), (0, 1, None, 16, 32)]
        function = self.call("executable.lookup.function", 0, b"kernel")
        counts = (workgroups, 3, 5)
        self.call("command_buffer.dispatch", commands, 0, function, *counts, 0, [7, -1], bindings)


class CommandTest(HalTest):
    def test_slots_are_filled_in_when_the_commands_are_executed(self) -> None:
        commands = self.call("command_buffer.create")
        self.dispatch(commands)
        self.assertEqual(self.recorder.commands, [])
        slots = (Span(_OUTPUT.storage, 0, 0), 0, 0), (_OUTPUT, 128, 64)
        self.execute(commands, *slots)
        spans = (Span(_INPUT.storage, 0, 64), Span(_OUTPUT.storage, 128 + 16, 32))
        wanted = Dispatch("kernel", (2, 3, 5), (7, 0xFFFFFFFF), spans)
        self.assertEqual(self.recorder.commands, [wanted])

    def test_a_dispatch_knows_its_layer(self) -> None:
        commands = self.call("command_buffer.create")
        self.hal.layer = lambda: "encoder.0 (Linear)"
        self.dispatch(commands)
        self.hal.layer = lambda: "of another call"
        self.execute(commands, (_INPUT, 0, 64), (_OUTPUT, 0, 64))
        (command,) = self.recorder.commands
        assert isinstance(command, Dispatch)
        self.assertEqual(command.layer, "encoder.0 (Linear)")

    def test_a_binding_that_is_one_of_two_lengths_has_the_larger_one(self) -> None:
        length = self.recorder.let("vm.select.i64", (_UNKNOWN, 128, 16), 64)
        function = self.call("executable.lookup.function", 0, b"kernel")
        short = Span(_OUTPUT.storage, 0, 32)
        for buffer, wanted in ((_OUTPUT, 128), (short, 32)):
            commands = self.call("command_buffer.create")
            bindings = [(0, 0, buffer, 0, length)]
            self.call("command_buffer.dispatch", commands, 0, function, 1, 1, 1, 0, [], bindings)
            self.execute(commands)
            (span,) = self.recorder.commands[-1].spans
            self.assertEqual(span.length, wanted)
        # Copies need to know.
        more = (0, 0, _OUTPUT, 0, _OUTPUT, 0, length, 0)
        self.refuses(
            "dynamic-shape",
            "only known at run time",
            call=lambda: self.call("command_buffer.copy_buffer", commands, *more),
        )

    def test_a_copy_goes_from_the_first_place_to_the_second(self) -> None:
        commands = self.call("command_buffer.create")
        self.call("command_buffer.copy_buffer", commands, 1, 0, None, 16, _OUTPUT, 32, 48, 0)
        self.execute(commands, (_OUTPUT, 0, 64), (_INPUT, 128, 64))
        source, target = Span(_INPUT.storage, 128 + 16, 48), Span(_OUTPUT.storage, 32, 48)
        self.assertEqual(self.recorder.commands, [Copy(source, target)])

    def test_only_the_bytes_of_a_pattern_are_kept(self) -> None:
        commands = self.call("command_buffer.create")
        self.fill(commands, 0)
        self.execute(commands)
        (fill,) = self.recorder.commands
        assert isinstance(fill, Fill)
        self.assertEqual((fill.pattern, fill.pattern_bytes), (7, 1))

    def test_an_offset_may_be_known_only_at_run_time(self) -> None:
        part = self.call("buffer.subspan", _OUTPUT, 64, 128)
        front = ("device", 0, "wait", "signal")
        self.call("device.queue.copy", *front, _INPUT, 0, part, _UNKNOWN, 16, 0)
        (copy,) = self.recorder.commands
        assert isinstance(copy, Copy)
        (let,) = self.recorder.statements
        assert isinstance(let, Let)
        self.assertEqual(copy.target, Span(_OUTPUT.storage, let.target, 16))
        self.assertEqual((let.operation, let.operands), ("vm.add.i64", (64, _UNKNOWN)))


class RefusedTest(HalTest):
    def test_buffers_end_where_they_end(self) -> None:
        self.call("buffer.subspan", _INPUT, 192, 64)
        for offset, length in ((193, 64), (-1, 4), (0, -4), (0, 257)):
            self.refuses(
                "host-program",
                f"bytes {offset}+{length} of a buffer of 256",
                call=lambda o=offset, n=length: self.call("buffer.subspan", _INPUT, o, n),
            )
        # So does a slot that is a part of a buffer.
        commands = self.call("command_buffer.create")
        self.fill(commands, 49, None)
        self.refuses(
            "host-program",
            "bytes 49+16 of a buffer of 64",
            call=lambda: self.execute(commands, (_OUTPUT, 0, 64)),
        )

    def test_sizes_are_known_at_build_time(self) -> None:
        alloca = ("device", 0, "wait", "signal", 0, 0, 0)
        self.call("device.queue.alloca", *alloca, 64, 0)
        commands = self.call("command_buffer.create")
        calls: tuple[Callable[[], object], ...] = (
            lambda: self.call("device.queue.alloca", *alloca, _UNKNOWN, 0),
            lambda: self.call("buffer.subspan", _INPUT, 0, _UNKNOWN),
            lambda: self.dispatch(commands, _UNKNOWN),
        )
        for call in calls:
            self.refuses("dynamic-shape", "only known at run time", call=call)

    def test_initialization_neither_reads_nor_computes(self) -> None:
        hal = Hal()
        offset = Span(_INPUT.storage, _UNKNOWN, 4)
        for call in (
            lambda: self.call("buffer.load", _INPUT, 0, 4, hal=hal),
            lambda: self.call("buffer.subspan", offset, 0, 4, hal=hal),
        ):
            self.refuses("init-work", "while it initializes", call=call)
        self.assertIsInstance(self.call("buffer.load", _INPUT, 0, 4), Variable)

    def test_one_executable_without_constants(self) -> None:
        create = ("executable.create", "device", 0, b"format")
        self.assertEqual(self.hal.executable(), b"")
        self.refuses(
            "unsupported-host-op",
            "executable constants",
            call=lambda: self.call(*create, b"elf", b"\1"),
        )
        self.call(*create, b"elf", None)
        self.assertEqual(self.hal.executable(), b"elf")
        self.call(*create, b"other", None)
        self.refuses("host-program", "2 executables", call=self.hal.executable)


if __name__ == "__main__":
    unittest.main()
