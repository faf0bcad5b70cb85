"""Finds the tensors in the slabs of IREE, so that each gets a place of its own.

IREE packs all tensors between kernels into few slabs, in the order in which they appear. Here every tensor becomes
a slab, alive from the first command that writes it to the last that reads it.

A tensor begins where a command overwrites a range of bytes without reading it, alone or with later ones (`joins.py`).
Whatever else touches those bytes belongs to the same tensor, until the next command overwrites them. Parts that a
command touches together keep their distances, such as a padded image and what is copied into it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from bmc.facts.operands import Written
from bmc.host.program import (
    ALIGNMENT,
    Copy,
    Dispatch,
    Fill,
    HalCommand,
    HostFunction,
    Slab,
    Span,
    Storage,
    StorageKind,
)
from bmc.plan import joins


def split(
    entry: HostFunction, written: Callable[[HalCommand], list[Written | None]]
) -> HostFunction:
    """Returns the entry with one slab for each tensor. An entry with a driver is unchanged.

    Args:
      entry: commands in the order in which they run.
      written: says what a command writes of each of its spans without reading it, None if that is not known.
    """
    if entry.driver:
        return entry
    finder = _Finder(entry)
    beginnings = joins.beginnings(entry.commands, written)
    for position, (command, begins) in enumerate(zip(entry.commands, beginnings, strict=True)):
        # What a command reads is found before what it overwrites.
        for number in sorted(range(len(begins)), key=lambda n: begins[n]):
            finder.use((position, number), command.spans[number], begins[number])
    for number, view in enumerate(entry.outputs):
        finder.use((len(entry.commands), number), view.span, False)
    return finder.finish()


# The position of a command, and the number of one of its spans. Outputs are behind the last command.
_Use = tuple[int, int]


@dataclass
class _Tensor:
    """Bytes [start, end) of a slab, used by the commands from `first` to `last`."""

    start: int
    end: int
    first: int
    last: int


class _Finder:
    def __init__(self, entry: HostFunction) -> None:
        self._entry = entry
        self._tensors: list[_Tensor] = []
        # The tensor that each one has become a part of; a tensor that is whole is its own.
        self._whole: list[int] = []
        self._found: dict[_Use, int] = {}
        spans = [span for command in entry.commands for span in command.spans]
        spans += [view.span for view in entry.outputs]
        cuts: dict[Storage, set[int]] = {}
        for span in filter(_in_slab, spans):
            cuts.setdefault(span.storage, set()).update((span.start, span.start + span.length))
        # Where spans of each slab begin or end, and the tensor that the bytes behind that hold now.
        self._cuts = {storage: sorted(places) for storage, places in cuts.items()}
        self._holds: dict[Storage, list[int | None]] = {
            storage: [None] * len(places) for storage, places in cuts.items()
        }

    def use(self, use: _Use, span: Span, begins: bool) -> None:
        """A command uses what the span's bytes hold, or begins a tensor there."""
        if not _in_slab(span):
            return
        position, number = use[0], len(self._tensors)
        places = self._range(span)
        held = self._holds[span.storage][places]
        roots = set() if begins else {self._root(tensor) for tensor in held if tensor is not None}
        parts = [self._tensors[root] for root in roots]
        self._tensors.append(
            _Tensor(
                min([span.start, *(part.start for part in parts)]),
                max([span.start + span.length, *(part.end for part in parts)]),
                min([position, *(part.first for part in parts)]),
                position,
            )
        )
        self._whole.append(number)
        for root in roots:
            self._whole[root] = number
        self._holds[span.storage][places] = [number] * len(held)
        self._found[use] = number

    def finish(self) -> HostFunction:
        """Returns the entry with a slab for each tensor."""
        entry = self._entry
        count = len(entry.commands)
        roots = [index for index in range(len(self._tensors)) if self._whole[index] == index]
        numbers = {root: number for number, root in enumerate(roots)}

        def slab(tensor: _Tensor) -> Slab:
            start = tensor.start - tensor.start % ALIGNMENT
            return Slab(tensor.end - start, tensor.first, tensor.last + 1)

        slabs = tuple(slab(self._tensors[root]) for root in roots)

        def moved(position: int, spans: Iterable[Span]) -> list[Span]:
            return [
                moved_one(self._root(self._found[position, number]), span)
                if _in_slab(span)
                else span
                for number, span in enumerate(spans)
            ]

        def moved_one(root: int, span: Span) -> Span:
            start = self._tensors[root].start
            storage = Storage(StorageKind.SLAB, numbers[root], slabs[numbers[root]].length)
            return replace(span, storage=storage, offset=span.start - start + start % ALIGNMENT)

        outputs = moved(count, (view.span for view in entry.outputs))

        return replace(
            entry,
            slabs=slabs,
            commands=tuple(
                with_spans(command, moved(position, command.spans))
                for position, command in enumerate(entry.commands)
            ),
            outputs=tuple(
                replace(view, span=span) for view, span in zip(entry.outputs, outputs, strict=True)
            ),
        )

    def _root(self, tensor: int) -> int:
        while self._whole[tensor] != tensor:
            tensor = self._whole[tensor]
        return tensor

    def _range(self, span: Span) -> slice:
        cuts = self._cuts[span.storage]
        return slice(bisect_left(cuts, span.start), bisect_left(cuts, span.start + span.length))


def _in_slab(span: Span) -> bool:
    return span.storage.kind is StorageKind.SLAB


def with_spans(command: HalCommand, spans: list[Span]) -> HalCommand:
    """Returns the command on these spans."""
    if isinstance(command, Dispatch):
        return replace(command, bindings=tuple(spans))
    if isinstance(command, Fill):
        return replace(command, target=spans[0])
    assert isinstance(command, Copy)
    return replace(command, source=spans[0], target=spans[1])
