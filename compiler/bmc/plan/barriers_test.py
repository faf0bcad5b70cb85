"""Tests which commands wait for those before them."""

from __future__ import annotations

import random
import unittest
from dataclasses import replace
from itertools import pairwise

from bmc.plan import check
from bmc.plan.barriers import with_barriers
from bmc.plan.tables import (
    Access,
    Binding,
    BindingPatch,
    Command,
    CommandKind,
    Entry,
    Plan,
    Region,
)

_ARENA = 16


def _command(reads: tuple[int, int], writes: tuple[int, int]) -> Command:
    """A copy of bytes from one up to another."""
    bindings = tuple(
        Binding(Region.ARENA, first, end - first, access, 1)
        for (first, end), access in ((reads, Access.READ), (writes, Access.WRITE))
    )
    return Command(CommandKind.DISPATCH, True, 0, (1, 1, 1), (), bindings)


def _plan(*commands: Command, entries: tuple[int, ...] = (0,), reset_count: int = 0) -> Plan:
    ends = (*entries[1:], len(commands))
    found = tuple(
        Entry(f"e{first}", first, end - first, (), ())
        for first, end in zip(entries, ends, strict=True)
    )
    return Plan("m", 0, 0, _ARENA, 0, (), commands, found, reset_count=reset_count)


def _barriers(plan: Plan) -> list[bool]:
    return [command.barrier for command in with_barriers(plan).commands]


class BarriersTest(unittest.TestCase):
    def test_a_command_waits_for_what_it_reads(self) -> None:
        first, other, both = (
            _command((0, 4), (4, 6)),
            _command((0, 4), (6, 8)),
            _command((4, 8), (8, 12)),
        )
        self.assertEqual(_barriers(_plan(first, other, both)), [True, False, True])

    def test_a_command_waits_before_it_writes_over_what_is_read(self) -> None:
        reads, writes = _command((0, 4), (8, 9)), _command((12, 16), (3, 4))
        self.assertEqual(_barriers(_plan(reads, writes)), [True, True])
        # One byte further there is nothing in common.
        self.assertEqual(_barriers(_plan(reads, _command((12, 16), (4, 5)))), [True, False])

    def test_a_barrier_is_enough_for_all_before_it(self) -> None:
        commands = [_command((0, 1), (1, 2)), _command((1, 2), (2, 3)), _command((0, 1), (3, 4))]
        self.assertEqual(_barriers(_plan(*commands)), [True, True, False])

    def test_an_entry_point_begins_with_one(self) -> None:
        commands = [_command((0, 1), (number, number + 1)) for number in range(1, 6)]
        plan = _plan(*commands, entries=(1, 3), reset_count=1)
        self.assertEqual(_barriers(plan), [True, True, False, True, False])

    def test_where_drivers_move_bindings_every_command_has_one(self) -> None:
        commands = [_command((0, 1), (number, number + 1)) for number in range(1, 4)]
        self.assertEqual(_barriers(_plan(*commands)), [True, False, False])
        commands[1] = replace(commands[1], patches=(BindingPatch(0, 0, 0, 1),))
        self.assertEqual(_barriers(_plan(*commands)), [True, True, True])

    def test_no_two_without_a_barrier_depend_on_each_other(self) -> None:
        generator = random.Random(1)

        def part() -> tuple[int, int]:
            first = generator.randrange(_ARENA)
            return first, generator.randrange(first, min(first + 4, _ARENA)) + 1

        saved = 0
        for _ in range(200):
            commands = [_command(part(), part()) for _ in range(8)]
            found = with_barriers(_plan(*commands)).commands
            starts = [n for n, command in enumerate(found) if command.barrier] + [len(found)]
            saved += len(found) - len(starts) + 1
            for first, end in pairwise(starts):
                for number in range(first, end):
                    for other in found[first:number]:
                        self.assertFalse(check.depends(found[number], other))
        self.assertGreater(saved, 100)


if __name__ == "__main__":
    unittest.main()
