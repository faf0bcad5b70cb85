"""Tests what a recorder makes of copies, branches and lifetimes."""

from __future__ import annotations

import unittest

from bmc.host.program import Branch, Copy, Fill, Run, Slab, Span, Storage, StorageKind
from bmc.host.recorder import EntryRecorder

_STATE = Storage(StorageKind.STATE, 0, 64)
_INPUTS = tuple(Storage(StorageKind.INPUT, number, 16) for number in range(3))


def whole(storage: Storage) -> Span:
    return Span(storage, 0, storage.length)


def fill(target: Span) -> Fill:
    return Fill(target, 0, 4)


class CopyTest(unittest.TestCase):
    def test_a_copy_within_a_tensor_goes_by_way_of_another(self) -> None:
        low, high = Span(_STATE, 0, 48), Span(_STATE, 16, 48)
        for source, target in ((low, high), (high, low)):
            recorder = EntryRecorder()
            recorder.copy(source, target)
            aside = Span(Storage(StorageKind.SLAB, 0, 48), 0, 48)
            copies = [Copy(source, aside), Copy(aside, target)]
            self.assertEqual(recorder.commands, copies)
            self.assertEqual(recorder.finished_slabs(loops=False), (Slab(48, 0, 2),))

    def test_what_has_no_bytes_is_no_command(self) -> None:
        recorder = EntryRecorder()
        recorder.copy(Span(_STATE, 0, 0), Span(_STATE, 32, 0))
        recorder.add(fill(Span(_STATE, 0, 0)))
        self.assertEqual(recorder.commands, [])

    def test_a_copy_to_its_neighbor_is_one_copy(self) -> None:
        recorder = EntryRecorder()
        recorder.copy(Span(_STATE, 0, 32), Span(_STATE, 32, 32))
        self.assertEqual((len(recorder.commands), recorder.slabs), (1, []))

    def after(self, *copies: tuple[int, int]) -> tuple[list[str], int]:
        """Copies inputs by number; returns what they hold afterwards and the number of copies."""
        recorder = EntryRecorder()
        recorder.copy_all([(whole(_INPUTS[a]), whole(_INPUTS[b])) for a, b in copies])
        memory = dict(zip(_INPUTS, "abc", strict=True))
        for command in recorder.commands:
            assert isinstance(command, Copy)
            memory[command.target.storage] = memory[command.source.storage]
        return [memory[storage] for storage in _INPUTS], len(recorder.commands)

    def test_copies_happen_as_if_at_once(self) -> None:
        self.assertEqual(self.after((0, 1), (1, 0)), (["b", "a", "c"], 4))
        self.assertEqual(self.after((0, 1), (1, 2), (2, 0))[0], ["c", "a", "b"])
        # Nothing is saved that is not overwritten, and nothing is copied to itself.
        self.assertEqual(self.after((0, 1), (0, 2)), (["a", "a", "a"], 2))
        self.assertEqual(self.after((0, 0)), (["a", "b", "c"], 0))


class BranchTest(unittest.TestCase):
    def test_each_side_runs_its_own_commands(self) -> None:
        recorder = EntryRecorder()
        condition = recorder.variable(32)
        first, second = whole(_INPUTS[0]), whole(_INPUTS[1])
        recorder.add(fill(first))
        recorder.branch(
            condition, lambda: recorder.add(fill(second)), lambda: recorder.copy(first, second)
        )
        recorder.add(fill(first))
        recorder.flush()
        self.assertEqual(
            recorder.statements,
            [Run(0, 1), Branch(condition, (Run(1, 2),), (Run(2, 3),)), Run(3, 4)],
        )


class LifetimeTest(unittest.TestCase):
    def record(self, *, other_block: bool) -> EntryRecorder:
        recorder = EntryRecorder()
        recorder.add(fill(whole(_INPUTS[0])))
        span = recorder.allocate(16)
        recorder.add(fill(span))
        if other_block:
            recorder.block = 1
        recorder.free(span.storage)
        recorder.add(fill(whole(_INPUTS[0])))
        recorder.allocate(32)
        recorder.allocate_for_ever(64)
        return recorder

    def test_a_slab_lives_from_its_allocation_until_it_is_freed(self) -> None:
        slabs = self.record(other_block=True).finished_slabs(loops=False)
        self.assertEqual(slabs, (Slab(16, 1, 2), Slab(32, 3, 3), Slab(64, 0, 3)))

    def test_with_loops_only_a_slab_of_one_block_shares_its_memory(self) -> None:
        slabs = self.record(other_block=False).finished_slabs(loops=True)
        self.assertEqual(slabs[0], Slab(16, 1, 2))
        slabs = self.record(other_block=True).finished_slabs(loops=True)
        self.assertEqual(slabs, (Slab(16, 0, 3), Slab(32, 0, 3), Slab(64, 0, 3)))


if __name__ == "__main__":
    unittest.main()
