"""Checks that every tensor still holds what was written to it when it is read, wherever the placement has put it.

It knows nothing of lives: it follows each byte of the arena through the commands. With a budget, tensors share memory
while only parts of them are alive, and a mistake would be wrong numbers without a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bmc.errors import InternalError
from bmc.host.program import HostFunction, Span, Storage, StorageKind
from bmc.plan.order import Accesses
from bmc.plan.tables import Access


def check(
    entry: HostFunction, inputs: Sequence[int], slabs: Sequence[int], size: int, accesses: Accesses
) -> None:
    """Follows the bytes of an entry without a driver.

    Args:
      entry: with its commands in the order in which they run.
      inputs, slabs: where each of them begins in the arena.
      size: bytes of the arena.
      accesses: says what a command does with each of its spans.

    Raises:
      InternalError: a command or the caller would read bytes of another tensor.
    """
    starts = {view.span.storage: at for view, at in zip(entry.inputs, inputs, strict=True)}
    starts |= {
        Storage(StorageKind.SLAB, number, slab.length): at
        for number, (slab, at) in enumerate(zip(entry.slabs, slabs, strict=True))
    }
    # Each byte of a storage has a number of its own.
    numbers: dict[Storage, int] = {}
    total = 1
    for storage in starts:
        numbers[storage] = total
        total += storage.length
    arena = np.zeros(size, np.int64)
    # A kernel may be bound to bytes that nobody has written; nothing is lost there.
    written = np.zeros(total, np.bool_)

    def own(span: Span) -> Any:
        begin = numbers[span.storage] + span.start
        return np.arange(begin, begin + span.length)

    def there(span: Span) -> slice:
        begin = starts[span.storage] + span.start
        return slice(begin, begin + span.length)

    def write(span: Span) -> None:
        arena[there(span)] = own(span)
        written[own(span)] = True

    def read(span: Span, who: str) -> None:
        lost = written[own(span)] & (arena[there(span)] != own(span))
        if lost.any():
            raise InternalError(
                f"{who} reads byte {span.start + int(lost.argmax())} of a tensor at {starts[span.storage]}"
                " of the arena, where another one was written"
            )

    for view in entry.inputs:
        write(view.span)
    for position, command in enumerate(entry.commands):
        uses = [
            (span, access)
            for span, access in zip(command.spans, accesses(command), strict=True)
            if span.storage in starts
        ]
        for span, access in uses:
            if access & Access.READ:
                read(span, f"command {position}")
        for span, access in uses:
            if access & Access.WRITE:
                write(span)
    for view in entry.outputs:
        if view.span.storage in starts:
            read(view.span, "the caller")
