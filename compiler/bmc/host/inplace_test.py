"""Tests when a state is updated in place."""

from __future__ import annotations

import unittest
from dataclasses import replace
from typing import Any

from bmc.dtype import DType
from bmc.host import inplace
from bmc.host.inplace import NewState
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

_OLD, _NEW, _OTHER = (
    Span(Storage(kind, number, 64), 0, 64)
    for kind, number in ((StorageKind.STATE, 0), (StorageKind.SLAB, 0), (StorageKind.SLAB, 1))
)
_BEGIN = Copy(_OLD, _NEW)
_COMMIT = Copy(_NEW, _OLD)


def row(of: Span) -> Fill:
    """Writes 16 bytes within a tensor."""
    return Fill(replace(of, offset=16, length=16), 7, 4)


def reads(*spans: Span) -> Dispatch:
    return Dispatch("kernel", (1, 1, 1), (), spans)


def merged(*commands: HalCommand, **changes: Any) -> HostFunction:
    """Merges an entry with these commands and a second slab that is alive while the last two run."""
    count = len(commands)
    slabs = (Slab(64, 0, count), Slab(64, count - 2, count))
    entry = HostFunction("main", (), (), slabs, commands)
    return inplace.merge(replace(entry, **changes), [NewState(_NEW, _OLD)])


class InPlaceTest(unittest.TestCase):
    def test_a_cache_is_left_with_the_write_of_one_row(self) -> None:
        entry = merged(_BEGIN, row(_NEW), reads(_NEW, _OTHER), _COMMIT)
        self.assertEqual(entry.commands, (row(_OLD), reads(_OLD, _OTHER)))
        # The new state takes no memory, and lifetimes count the commands that are left.
        self.assertEqual(entry.slabs, (Slab(0, 0, 0), Slab(64, 1, 2)))

    def test_the_old_state_may_be_read_before_the_new_one_is_begun(self) -> None:
        entry = merged(reads(_OLD, _OTHER), row(_NEW), _COMMIT)
        self.assertEqual(entry.commands, (reads(_OLD, _OTHER), row(_OLD)))

    def refused(self, *commands: HalCommand, **changes: Any) -> None:
        self.assertEqual(merged(*commands, **changes).commands, commands)

    def test_the_old_state_is_read_too_late(self) -> None:
        self.refused(row(_NEW), reads(_OLD, _OTHER), _COMMIT)
        self.refused(_BEGIN, reads(_OLD, _NEW), _COMMIT)

    def test_the_new_state_is_an_output_too(self) -> None:
        output = View(_NEW, DType.I8, (64,))
        self.refused(_BEGIN, row(_NEW), _COMMIT, outputs=(output,))

    def test_a_driver_decides_which_commands_run(self) -> None:
        self.refused(_BEGIN, row(_NEW), _COMMIT, driver=(Run(0, 3),))

    def test_there_is_no_copy_to_save(self) -> None:
        self.refused(_BEGIN, row(_NEW))


if __name__ == "__main__":
    unittest.main()
