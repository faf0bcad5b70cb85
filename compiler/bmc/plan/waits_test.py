"""Tests where drivers wait for calls that return before they are done."""

from __future__ import annotations

import random
import unittest
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bmc.emit import plan_c
from bmc.host.program import Branch, Return, Run, Statement, Variable, Wait
from bmc.libraries import Call, Dispatch, Operand
from bmc.libraries.library import Library, Taken
from bmc.plan.calls import LinkedCall
from bmc.plan.tables import (
    Access,
    Binding,
    BindingPatch,
    Command,
    CommandKind,
    Entry,
    Export,
    Plan,
    Region,
)
from bmc.plan.waits import with_waits

_ARENA = 8


def _export(wait: str) -> Export:
    operand = Operand("f32", ())
    dispatch = Dispatch("f", "rv64gc", 0, (), (operand,) * 3, None, ())
    taken = Taken(
        Library("//k:unit", "k/unit.h", Path("take.py"), lambda _: None),
        dispatch,
        Call("f", (), wait=wait),
    )
    return Export("f", 0, 2, LinkedCall("f", taken, (), {}, None, 2))


# A call that leaves work to be done, one that does not, and a kernel.
_LATE, _CALL, _KERNEL = 0, 1, 2
_EXPORTS = (_export("drain"), _export(""), Export("k", 0, 2))


def _command(export: int, reads: tuple[int, int], writes: tuple[int, int]) -> Command:
    """A dispatch that reads and writes bytes from one up to another."""
    bindings = tuple(
        Binding(Region.ARENA, first, end - first, access, 1)
        for (first, end), access in ((reads, Access.READ), (writes, Access.WRITE))
    )
    return Command(CommandKind.DISPATCH, True, export, (1, 1, 1), (), bindings)


def _plan(*commands: Command, driver: tuple[Statement, ...] = ()) -> Plan:
    entry = Entry("main", 0, len(commands), (), (), driver=driver, variable_bits=(32,))
    return Plan("m", 0, 0, _ARENA, 0, _EXPORTS, commands, (entry,))


def _driver(*commands: Command, driver: tuple[Statement, ...] = ()) -> tuple[Statement, ...]:
    return with_waits(_plan(*commands, driver=driver)).entries[0].driver


class WaitsTest(unittest.TestCase):
    def test_a_command_that_reads_the_result_waits(self) -> None:
        late, kernel = _command(_LATE, (0, 2), (2, 4)), _command(_KERNEL, (3, 4), (4, 5))
        self.assertEqual(_driver(late, kernel), (Run(0, 1), Wait(), Run(1, 2), Return()))

    def test_a_command_that_takes_the_place_of_an_operand_waits(self) -> None:
        late, kernel = _command(_LATE, (0, 2), (2, 4)), _command(_KERNEL, (4, 5), (1, 2))
        self.assertEqual(_driver(late, kernel), (Run(0, 1), Wait(), Run(1, 2), Return()))

    def test_others_run_beside_it_and_the_run_ends_with_a_wait(self) -> None:
        late, kernel = _command(_LATE, (0, 2), (2, 4)), _command(_KERNEL, (0, 2), (4, 5))
        self.assertEqual(_driver(late, kernel), (Run(0, 2), Wait(), Return()))

    def test_what_need_not_wait_runs_first(self) -> None:
        late, other = _command(_LATE, (0, 1), (1, 2)), _command(_KERNEL, (4, 5), (5, 6))
        reader = _command(_KERNEL, (1, 2), (2, 3))
        wanted = (Run(0, 1), Run(2, 3), Wait(), Run(1, 2), Return())
        self.assertEqual(_driver(late, reader, other), wanted)
        # Not if it needs what waits.
        after = _command(_KERNEL, (2, 3), (5, 6))
        self.assertEqual(_driver(late, reader, after), (Run(0, 1), Wait(), Run(1, 3), Return()))

    def test_ranges_of_a_driver_end_with_a_wait(self) -> None:
        late, kernel = _command(_LATE, (0, 1), (1, 2)), _command(_KERNEL, (4, 5), (5, 6))
        driver = (Branch(Variable(0, 32), (Run(0, 1),), (Run(1, 2),)), Return())
        found = _driver(late, kernel, driver=driver)
        self.assertEqual(
            found, (Branch(Variable(0, 32), (Run(0, 1), Wait()), (Run(1, 2),)), Return())
        )

    def test_a_command_whose_place_is_known_at_run_time_waits(self) -> None:
        late, kernel = _command(_LATE, (0, 1), (1, 2)), _command(_KERNEL, (4, 5), (5, 6))
        moved = replace(kernel, patches=(BindingPatch(0, 0, 0, _ARENA),))
        self.assertEqual(_driver(late, moved), (Run(0, 1), Wait(), Run(1, 2), Return()))

    def test_other_calls_need_no_driver(self) -> None:
        model = _plan(_command(_CALL, (0, 2), (2, 4)), _command(_KERNEL, (3, 4), (4, 5)))
        self.assertEqual(with_waits(model), model)

    def test_the_driver_waits_in_c(self) -> None:
        model = with_waits(_plan(_command(_LATE, (0, 2), (2, 4))))
        text = plan_c.source(model, None)
        for part in (
            "static bm_status_t wait_for_calls(void) {\n  return drain();\n}",
            "BM_TRY(bm_plan_run(runner, 0, 1));\n  BM_TRY(wait_for_calls());\n  return bm_ok();",
            ".wait = wait_for_calls",
        ):
            self.assertIn(part, text)

    def test_random_plans_compute_what_they_would_in_order(self) -> None:
        unwaited = 0
        for seed in range(300):
            commands = tuple(_commands(random.Random(seed)))
            driver = _driver(*commands) or (Run(0, len(commands)),)
            wanted = _run(commands, (Run(0, len(commands)),), is_late=False)
            self.assertEqual(_run(commands, driver, is_late=True), wanted, seed)
            without = tuple(each for each in driver if each != Wait())
            unwaited += _run(commands, without, is_late=True) != wanted
        # Without waits, most of them do not.
        self.assertGreater(unwaited, 150)


def _commands(choose: random.Random) -> Iterator[Command]:
    for _ in range(8):
        places = [choose.randrange(_ARENA - 1) for _ in range(2)]
        reads, writes = ((first, first + choose.randint(1, 2)) for first in places)
        yield _command(choose.choice((_LATE, _CALL, _KERNEL)), reads, writes)


def _run(
    commands: tuple[Command, ...], driver: tuple[Statement, ...], is_late: bool
) -> tuple[int, ...]:
    """Returns what is in the arena at the end. Calls that may be late read and write as late as they may."""
    arena = list(range(_ARENA + 1))
    open_: list[int] = []

    def do(number: int) -> None:
        source, target = commands[number].bindings
        value = hash((number, *arena[source.offset : source.offset + source.length]))
        arena[target.offset : target.offset + target.length] = [value] * target.length

    for statement in driver:
        if isinstance(statement, Run):
            for number in range(statement.first, statement.end):
                if is_late and commands[number].export_index == _LATE:
                    open_.append(number)
                else:
                    do(number)
        elif isinstance(statement, Wait):
            for number in open_:
                do(number)
            open_ = []
    return tuple(arena)


if __name__ == "__main__":
    unittest.main()
