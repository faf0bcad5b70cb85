"""Tests that tensors are found in slabs, and that a run on their places reads what the host program reads."""

from __future__ import annotations

import unittest
from collections.abc import Callable

import support

from bmc.dtype import DType
from bmc.facts.operands import Written
from bmc.host.program import (
    Copy,
    Dispatch,
    Fill,
    HalCommand,
    HostFunction,
    Run,
    Slab,
    Span,
    Storage,
    StorageKind,
    View,
)
from bmc.plan import placement, tensors

_SLAB = Storage(StorageKind.SLAB, 0, 1024)
_RESULT = Storage(StorageKind.SLAB, 1, 64)
_INPUT = Storage(StorageKind.INPUT, 0, 64)


def at(offset: int, length: int = 64) -> Span:
    return Span(_SLAB, offset, length)


def kernel(name: str, *spans: Span) -> Dispatch:
    return Dispatch(name, (1, 1, 1), (), spans)


def entry(*commands: HalCommand) -> HostFunction:
    output = View(Span(_RESULT, 0, 64), DType.F32, (16,))
    source = View(Span(_INPUT, 0, 64), DType.F32, (16,))
    lives = (0, len(commands))
    slabs = (Slab(_SLAB.length, *lives), Slab(_RESULT.length, *lives))
    return HostFunction("main", (source,), (output,), slabs, commands)


def overwrites(command: HalCommand) -> list[bool]:
    """A kernel overwrites its last span, unless its name says that it writes a part or in place."""
    if isinstance(command, Copy):
        return [False, True]
    if isinstance(command, Fill):
        return [True]
    return [False] * (len(command.spans) - 1) + [command.function == "whole"]


def written(command: HalCommand) -> list[Written | None]:
    """Of a kernel that writes columns, the name says which of how many bytes."""
    found = [
        Written(span.length, span.length, 0, span.length) if whole else None
        for span, whole in zip(command.spans, overwrites(command), strict=True)
    ]
    if isinstance(command, Dispatch) and command.function.startswith("columns"):
        first, end, row = map(int, command.function.split()[1:])
        found[-1] = Written(command.spans[-1].length, row, first, end)
    return found


def split(*commands: HalCommand) -> HostFunction:
    return tensors.split(entry(*commands), written)


def places(function: HostFunction) -> tuple[list[int], int]:
    """Returns where an entry's slabs lie, and the bytes that they need."""
    placed = placement.place([placement.Block(s.length, s.first, s.end) for s in function.slabs])
    return list(placed.offsets), placed.size


Trace = list[list[tuple[object, ...]]]


def trace(function: HostFunction, start: Callable[[Storage], tuple[object, int]]) -> Trace:
    """Returns for every span that a command reads, and every output, who wrote each of its bytes.

    `start` says where a storage begins. None stands for a byte that nothing has written.
    """
    memory: dict[tuple[object, int], object] = {}
    found: Trace = []

    def bytes_of(span: Span) -> list[tuple[object, int]]:
        region, offset = start(span.storage)
        return [(region, offset + span.start + i) for i in range(span.length)]

    for view in function.inputs:
        memory.update({byte: ("input", i) for i, byte in enumerate(bytes_of(view.span))})
    for position, command in enumerate(function.commands):
        whole = overwrites(command)
        found.append([])
        for span, begins in zip(command.spans, whole, strict=True):
            if not begins:
                found[-1].append(tuple(memory.get(byte) for byte in bytes_of(span)))
        for number, (span, begins) in enumerate(zip(command.spans, whole, strict=True)):
            for index, byte in enumerate(bytes_of(span)):
                if begins:
                    memory[byte] = (position, number, index)
                elif isinstance(command, Dispatch) and number == len(command.spans) - 1:
                    memory[byte] = (position, memory.get(byte))
    found.append([tuple(memory.get(byte) for byte in bytes_of(v.span)) for v in function.outputs])
    return found


class SplitTest(support.FolderTest):
    def agrees(self, *commands: HalCommand) -> HostFunction:
        """Returns the entry after the split. On its places, every command must read the same as before."""
        before, after = entry(*commands), split(*commands)
        offsets, _ = places(after)

        def arena(storage: Storage) -> tuple[object, int]:
            if storage.kind is StorageKind.INPUT:
                return storage, 0
            return "arena", offsets[storage.index]

        self.assertEqual(trace(before, lambda s: (s, 0)), trace(after, arena))
        return after

    def test_a_tensor_begins_where_it_is_overwritten(self) -> None:
        after = self.agrees(
            kernel("whole", Span(_INPUT, 0, 64), at(0)),
            kernel("whole", at(0), at(512)),
            kernel("whole", at(512), at(0)),
            kernel("whole", at(0), Span(_RESULT, 0, 64)),
        )
        self.assertEqual(after.slabs, tuple(Slab(64, i, i + 2) for i in range(4)))
        self.assertEqual(places(after)[1], 128)

    def test_what_a_kernel_writes_in_part_is_one_tensor_with_what_was_there(self) -> None:
        after = self.agrees(
            Fill(at(128, 256), 0, 1),
            kernel("whole", Span(_INPUT, 0, 64), at(0)),
            kernel("part", at(0), at(128, 256)),
            kernel("whole", at(128, 256), Span(_RESULT, 0, 64)),
        )
        self.assertEqual(after.slabs, (Slab(64, 1, 3), Slab(256, 0, 4), Slab(64, 3, 5)))

    def test_columns_that_fill_a_table_begin_a_tensor(self) -> None:
        after = split(
            Fill(at(0, 192), 0, 1),
            kernel("whole", at(0, 192), at(512)),
            kernel("columns 0 16 48", at(512), at(64, 192)),
            kernel("columns 16 48 48", at(512), at(64, 192)),
            kernel("whole", at(64, 192), Span(_RESULT, 0, 64)),
        )
        # The table has nothing to do with what was at its place before.
        self.assertIn(Slab(192, 0, 2), after.slabs)
        self.assertIn(Slab(192, 2, 5), after.slabs)

    def test_parts_that_are_read_together_keep_their_distance(self) -> None:
        after = self.agrees(
            Copy(Span(_INPUT, 0, 64), at(80)),
            Copy(Span(_INPUT, 0, 16), at(64, 16)),
            kernel("whole", at(64, 80), Span(_RESULT, 0, 64)),
        )
        self.assertEqual(after.slabs, (Slab(80, 0, 3), Slab(64, 2, 4)))
        self.assertEqual([c.spans[-1].offset for c in after.commands], [16, 0, 0])

    def test_a_part_in_the_middle_does_not_end_the_rest(self) -> None:
        after = self.agrees(
            Fill(at(0, 192), 0, 1),
            Fill(at(512), 1, 1),
            Copy(Span(_INPUT, 0, 64), at(64)),
            kernel("whole", at(512), Span(_RESULT, 0, 64)),
            kernel("in place", at(0, 192), Span(_RESULT, 0, 64)),
        )
        self.assertEqual(after.slabs[0], Slab(64, 1, 4))
        self.assertIn(Slab(192, 0, 5), after.slabs)

    def test_a_kernel_may_overwrite_the_place_of_its_operand(self) -> None:
        # IREE would have proved that this is right for one place; here the two tensors get two.
        after = split(
            Fill(at(0), 0, 1),
            kernel("whole", at(0), at(0)),
            kernel("whole", at(0), Span(_RESULT, 0, 64)),
        )
        self.assertEqual(after.slabs, (Slab(64, 0, 2), Slab(64, 1, 3), Slab(64, 2, 4)))

    def test_an_aligned_part_of_a_tensor_stays_aligned(self) -> None:
        after = split(
            Copy(Span(_INPUT, 0, 16), at(80, 16)),
            kernel("part", at(64, 32), at(128)),
            kernel("whole", at(128), Span(_RESULT, 0, 64)),
        )
        self.assertEqual([span.offset for span in after.commands[1].spans], [0, 0])
        alone = split(Copy(Span(_INPUT, 0, 16), at(80, 16)))
        self.assertEqual((alone.commands[0].spans[1].offset, alone.slabs[0].length), (16, 32))

    def test_control_flow_is_left_alone(self) -> None:
        function = entry(Fill(at(0), 0, 1))
        driven = HostFunction("main", (), (), function.slabs, function.commands, (Run(0, 1),))
        self.assertIs(tensors.split(driven, written), driven)

    def test_the_trace_finds_a_life_that_is_too_short(self) -> None:
        after = split(
            kernel("whole", Span(_INPUT, 0, 64), at(0)),
            kernel("whole", Span(_INPUT, 0, 64), at(512)),
            kernel("whole", at(0), at(512), Span(_RESULT, 0, 64)),
        )

        def found(offsets: list[int]) -> Trace:
            return trace(after, lambda s: (s, 0) if s == _INPUT else ("arena", offsets[s.index]))

        self.assertNotEqual(found([0, 64, 128]), found([0, 0, 128]))


if __name__ == "__main__":
    unittest.main()
