"""Waits for calls that return before their work is done, as late as the plan allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bmc.host.program import Branch, Return, Run, Statement, Wait
from bmc.plan import check
from bmc.plan.tables import Command, CommandKind, Entry, Plan


def with_waits(model: Plan) -> Plan:
    """Returns the plan with a Wait in the drivers before each command that depends on a call that may not be done.

    A command depends on an earlier one if one of the two writes what the other reads or writes: also if they only share
    memory. Commands that depend on nothing that is not done run before those that would wait. An entry point without a
    driver gets one. A driver waits at the end of each range that it had, because what follows, such as a branch, may
    read what is computed there.
    """
    if not any(call.taken.call.wait for call in model.calls):
        return model
    return replace(model, entries=tuple(_driven(model, entry) for entry in model.entries))


def _driven(model: Plan, entry: Entry) -> Entry:
    driver = entry.driver or (Run(0, entry.command_count), Return())
    commands = model.commands[entry.first_command :][: entry.command_count]
    found = tuple(part for each in driver for part in _statement(model, commands, each))
    return replace(entry, driver=found) if Wait() in _all(found) else entry


def _all(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        if isinstance(statement, Branch):
            yield from _all((*statement.then, *statement.otherwise))


def _statement(
    model: Plan, commands: tuple[Command, ...], statement: Statement
) -> Iterator[Statement]:
    if isinstance(statement, Branch):
        then, otherwise = (
            tuple(part for each in branch for part in _statement(model, commands, each))
            for branch in (statement.then, statement.otherwise)
        )
        yield replace(statement, then=then, otherwise=otherwise)
    elif isinstance(statement, Run):
        yield from _ranges(model, commands, statement)
    else:
        yield statement


def _ranges(model: Plan, commands: tuple[Command, ...], run: Run) -> Iterator[Statement]:
    left = list(range(run.first, run.end))
    # Commands that run now, and those that may not be done.
    ready: list[int] = []
    open_: list[Command] = []
    while left:
        number = _next(commands, left, open_)
        if number is None:
            yield from _runs(ready)
            yield Wait()
            ready, open_ = [], []
            continue
        left.remove(number)
        ready.append(number)
        if _is_open(model, commands[number]):
            open_.append(commands[number])
    yield from _runs(ready)
    if open_:
        yield Wait()


def _next(commands: tuple[Command, ...], left: list[int], open_: list[Command]) -> int | None:
    """Returns the first command that need not wait, and that those before it do not need to be first."""
    if not open_:
        return left[0]
    before = list(open_)
    for number in left:
        if not any(check.depends(commands[number], other) for other in before):
            return number
        before.append(commands[number])
    return None


def _runs(numbers: list[int]) -> Iterator[Run]:
    """Returns neighbors as ranges."""
    first = 0
    for end in range(1, len(numbers) + 1):
        if end == len(numbers) or numbers[end] != numbers[end - 1] + 1:
            yield Run(numbers[first], numbers[end - 1] + 1)
            first = end


def _is_open(model: Plan, command: Command) -> bool:
    if command.kind is not CommandKind.DISPATCH:
        return False
    call = model.exports[command.export_index].call
    return call is not None and bool(call.taken.call.wait)
