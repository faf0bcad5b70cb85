"""Removes copies of tensors' parts: their readers read the part itself, if it stays as it is for as long."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from bmc.host.program import Copy, HalCommand, HostFunction, Span, Storage, StorageKind
from bmc.plan import tensors
from bmc.plan.order import Accesses
from bmc.plan.tables import Access

Alignments = Callable[[HalCommand], list[int]]


def forward(entry: HostFunction, accesses: Accesses, alignments: Alignments) -> HostFunction:
    """Returns the entry without needless copies. An entry with a driver is unchanged.

    Args:
      entry: with one slab for each tensor (`tensors.py`).
      accesses: says what a command does with each of its spans.
      alignments: says what the place of each of a command's spans must be a multiple of.
    """
    if entry.driver:
        return entry
    returned = {view.span.storage for view in entry.outputs}
    commands: list[HalCommand | None] = list(entry.commands)
    for position, copy in enumerate(entry.commands):
        if not isinstance(copy, Copy) or copy.target.storage in returned:
            continue
        now = commands[position]
        assert isinstance(now, Copy)
        readers = _readers(commands, position, now.target.storage, accesses)
        if readers is None or not _stays(commands, position, readers, now.source, accesses):
            continue
        moved = {number: _moved(commands[number], now) for number in readers}
        if all(_fits(command, now.source.storage, alignments) for command in moved.values()):
            commands[position] = None
            for number, command in moved.items():
                commands[number] = command
    return _without_gaps(entry, [command for command in commands if command is not None])


def _readers(
    commands: list[HalCommand | None], position: int, storage: Storage, accesses: Accesses
) -> list[int] | None:
    """Returns the commands that read a storage, None unless the copy at `position` is all that writes it."""
    found = []
    for number, command in enumerate(commands):
        if command is None or number == position:
            continue
        used = {
            a for s, a in zip(command.spans, accesses(command), strict=True) if s.storage == storage
        }
        if any(access & Access.WRITE for access in used) or (used and number < position):
            return None
        if used:
            found.append(number)
    return found


def _stays(
    commands: list[HalCommand | None],
    position: int,
    readers: list[int],
    source: Span,
    accesses: Accesses,
) -> bool:
    """Whether nothing writes the source of the copy at `position` before its last reader is done."""
    for command in commands[position + 1 : max(readers, default=position) + 1]:
        if command is None:
            continue
        for span, access in zip(command.spans, accesses(command), strict=True):
            if access & Access.WRITE and span.overlaps(source):
                return False
    return True


def _moved(command: HalCommand | None, copy: Copy) -> HalCommand:
    """Returns a command that reads the source of a copy instead of its target."""
    assert command is not None

    def moved(span: Span) -> Span:
        if span.storage != copy.target.storage:
            return span
        offset = copy.source.start + span.start - copy.target.start
        return replace(span, storage=copy.source.storage, offset=offset)

    return tensors.with_spans(command, [moved(span) for span in command.spans])


def _fits(command: HalCommand, storage: Storage, alignments: Alignments) -> bool:
    """Whether a command may have its spans of a storage where they are; every storage begins aligned."""
    return all(
        span.storage != storage or span.start % alignment == 0
        for span, alignment in zip(command.spans, alignments(command), strict=True)
    )


def _without_gaps(entry: HostFunction, commands: Iterable[HalCommand]) -> HostFunction:
    """Returns the entry with these commands, and the slabs that they use."""
    commands = tuple(commands)
    used = {
        s.storage.index for c in commands for s in c.spans if s.storage.kind is StorageKind.SLAB
    }
    used |= {
        view.span.storage.index
        for view in entry.outputs
        if view.span.storage.kind is StorageKind.SLAB
    }
    numbers = {old: new for new, old in enumerate(sorted(used))}

    def renumbered(span: Span) -> Span:
        if span.storage.kind is not StorageKind.SLAB:
            return span
        return replace(span, storage=replace(span.storage, index=numbers[span.storage.index]))

    return replace(
        entry,
        slabs=tuple(entry.slabs[old] for old in sorted(used)),
        commands=tuple(
            tensors.with_spans(command, [renumbered(span) for span in command.spans])
            for command in commands
        ),
        outputs=tuple(replace(view, span=renumbered(view.span)) for view in entry.outputs),
    )
