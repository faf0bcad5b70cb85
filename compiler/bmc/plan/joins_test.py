"""Tests which commands begin a tensor, against what a run would read."""

from __future__ import annotations

import random
import unittest

from bmc.facts.operands import Written
from bmc.host.program import Dispatch, HalCommand, Span, Storage, StorageKind
from bmc.plan import joins

_SLAB = Storage(StorageKind.SLAB, 0, 64)
_TABLE = Span(_SLAB, 0, 24)
_ROW = 6


def kernel(name: str, *spans: Span) -> Dispatch:
    return Dispatch(name, (1, 1, 1), (), spans)


def columns(first: int, end: int, span: Span = _TABLE) -> Dispatch:
    return kernel(f"{first} {end} {_ROW}", span)


def written(command: HalCommand) -> list[Written | None]:
    """A kernel whose name has no numbers reads its spans; others write these columns of the last one."""
    assert isinstance(command, Dispatch)
    *reads, last = command.spans
    if not command.function[:1].isdigit():
        return [None] * len(command.spans)
    first, end, row = map(int, command.function.split())
    return [*[None for _ in reads], Written(last.length, row, first, end)]


def begins(*commands: Dispatch) -> list[bool]:
    return [found[-1] for found in joins.beginnings(commands, written)]


_READ = kernel("read", _TABLE)


class JoinsTest(unittest.TestCase):
    def test_the_first_of_all_columns_begins(self) -> None:
        self.assertEqual(begins(columns(0, 2), columns(2, 6), _READ), [True, False, False])
        self.assertEqual(begins(columns(4, 6), columns(0, 4), _READ), [True, False, False])

    def test_a_whole_table_begins_at_once(self) -> None:
        self.assertEqual(begins(columns(0, 6), _READ), [True, False])

    def test_a_gap_is_read(self) -> None:
        self.assertEqual(begins(columns(0, 2), columns(3, 6), _READ), [False] * 3)
        self.assertEqual(begins(columns(0, 2)), [False])

    def test_a_reader_before_the_last_column_sees_what_was_there(self) -> None:
        self.assertEqual(begins(columns(0, 2), _READ, columns(2, 6), _READ), [False] * 4)
        part = kernel("read", Span(_SLAB, 23, 4))
        self.assertEqual(begins(columns(0, 2), part, columns(2, 6)), [False] * 3)
        beside = kernel("read", Span(_SLAB, 24, 4))
        self.assertEqual(begins(columns(0, 2), beside, columns(2, 6)), [True, False, False])

    def test_a_kernel_that_reads_the_table_itself_does_not_begin_it(self) -> None:
        inside = kernel("0 2 6", _TABLE, _TABLE)
        self.assertEqual(begins(inside, columns(2, 6)), [False, False])

    def test_columns_of_another_table_do_not_count(self) -> None:
        other = kernel("2 8 8", _TABLE)
        self.assertEqual(begins(columns(0, 2), other, columns(2, 6)), [False] * 3)

    def test_random_programs_read_what_was_written_since_a_beginning(self) -> None:
        chance = random.Random(0)
        found = 0
        for _ in range(300):
            commands = []
            for _ in range(8):
                first = chance.randrange(_ROW)
                part = columns(first, chance.randrange(first, _ROW) + 1)
                commands.append(_READ if chance.random() < 0.15 else part)
            for start, is_first in enumerate(begins(*commands)):
                if not is_first:
                    continue
                found += 1
                fresh: set[int] = set()
                for command in commands[start:]:
                    if command is _READ:
                        self.assertEqual(fresh, set(range(_ROW)))
                        break
                    first, end, _ = map(int, command.function.split())
                    fresh |= set(range(first, end))
        self.assertGreater(found, 300)


if __name__ == "__main__":
    unittest.main()
