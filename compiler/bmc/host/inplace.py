"""Updates a state in place if it can, instead of copying it.

A function writes a new state to storage of its own, and a copy at the end brings it to its place. If
nothing reads the old state once the new one is begun, both can be the same memory. A KV cache begins as a
copy of the old one, and then one row of it is replaced. Only the write of that row remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmc.host.program import Copy, Dispatch, Fill, HalCommand, HostFunction, Slab, Span, Storage


@dataclass(frozen=True, slots=True)
class NewState:
    """`written` is a whole slab, `place` is where the state permanently lies."""

    written: Span
    place: Span


def merge(entry: HostFunction, states: Sequence[NewState]) -> HostFunction:
    """Returns the entry with as few state copies as possible. An entry with a driver is unchanged."""
    if not entry.driver:
        for state in states:
            entry = _merge_one(entry, state)
    return entry


def _merge_one(entry: HostFunction, state: NewState) -> HostFunction:
    new, old = state.written.storage, state.place.storage
    commit = Copy(state.written, state.place)
    if commit not in entry.commands or any(view.span.storage == new for view in entry.outputs):
        return entry
    commands = [command for command in entry.commands if command != commit]
    first = next((i for i, c in enumerate(commands) if _touches(c, new)), len(commands))
    if first < len(commands) and commands[first] == replace(
        commit, source=state.place, target=state.written
    ):
        del commands[first]
    if any(_touches(command, old) for command in commands[first:]):
        return entry
    removed = [i for i, c in enumerate(entry.commands) if c not in commands]
    slabs = list(entry.slabs)
    slabs[new.index] = Slab(0, 0, 0)
    return replace(
        entry,
        commands=tuple(_renamed(command, new, old) for command in commands),
        slabs=tuple(_moved(slab, removed) for slab in slabs),
    )


def _touches(command: HalCommand, storage: Storage) -> bool:
    return any(span.storage == storage for span in command.spans)


def _renamed(command: HalCommand, new: Storage, old: Storage) -> HalCommand:
    def rename(span: Span) -> Span:
        return replace(span, storage=old) if span.storage == new else span

    if isinstance(command, Dispatch):
        return replace(command, bindings=tuple(map(rename, command.bindings)))
    if isinstance(command, Fill):
        return replace(command, target=rename(command.target))
    return replace(command, source=rename(command.source), target=rename(command.target))


def _moved(slab: Slab, removed: list[int]) -> Slab:
    """Returns a slab whose lifetime counts only the commands that remain."""

    def moved(position: int) -> int:
        return position - sum(index < position for index in removed)

    return Slab(slab.length, moved(slab.first), moved(slab.end))
