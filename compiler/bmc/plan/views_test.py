"""Tests that copies are removed where their readers may read the source, and nowhere else."""

from __future__ import annotations

import unittest

from bmc.dtype import DType
from bmc.host.program import (
    Copy,
    Dispatch,
    HalCommand,
    HostFunction,
    Slab,
    Span,
    Storage,
    StorageKind,
    View,
)
from bmc.plan import views
from bmc.plan.tables import Access

_IMAGE = Storage(StorageKind.SLAB, 0, 256)
_PART = Storage(StorageKind.SLAB, 1, 64)
_RESULT = Storage(StorageKind.SLAB, 2, 64)


def span(storage: Storage, offset: int = 0, length: int = 64) -> Span:
    return Span(storage, offset, length)


def kernel(read: Span, written: Span) -> Dispatch:
    return Dispatch("kernel", (1, 1, 1), (), (read, written))


class ViewsTest(unittest.TestCase):
    def forward(
        self, *commands: HalCommand, returned: Storage = _RESULT, alignment: int = 16
    ) -> tuple[HalCommand, ...]:
        entry = HostFunction(
            name="main",
            inputs=(),
            outputs=(View(span(returned), DType.I8, (64,)),),
            slabs=tuple(Slab(storage.length, 0, 1) for storage in (_IMAGE, _PART, _RESULT)),
            commands=commands,
            driver=(),
            variable_bits=(),
        )

        def accesses(command: HalCommand) -> list[Access]:
            return [Access.READ, Access.WRITE][-len(command.spans) :]

        return views.forward(entry, accesses, lambda c: [alignment] * len(c.spans)).commands

    def test_a_part_is_read_where_it_is(self) -> None:
        made = kernel(span(_RESULT), span(_IMAGE, 0, 256))
        copy = Copy(span(_IMAGE, 96), span(_PART))
        commands = self.forward(made, copy, kernel(span(_PART), span(_RESULT)))
        self.assertEqual(len(commands), 2)
        self.assertEqual(commands[1].spans[0].start, 96)

    def test_copies_of_copies(self) -> None:
        first, second = Copy(span(_IMAGE, 64), span(_PART)), Copy(span(_PART), span(_RESULT))
        (command,) = self.forward(first, second)
        self.assertEqual(command.spans[0].start, 64)

    def test_copies_that_stay(self) -> None:
        copy = Copy(span(_IMAGE, 96), span(_PART))
        read = kernel(span(_PART), span(_RESULT))
        for why, commands, alignment in (
            ("the source changes", (copy, kernel(span(_RESULT), span(_IMAGE, 128)), read), 16),
            ("the copy changes", (copy, kernel(span(_RESULT), span(_PART)), read), 16),
            ("readers need more alignment", (copy, read), 64),
        ):
            with self.subTest(why):
                self.assertIn(copy, self.forward(*commands, alignment=alignment))
        self.assertIn(copy, self.forward(copy, read, returned=_PART))


if __name__ == "__main__":
    unittest.main()
