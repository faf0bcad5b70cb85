"""Tests that a tensor that is overwritten too early is noticed."""

from __future__ import annotations

import unittest

from bmc.dtype import DType
from bmc.errors import InternalError
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
from bmc.plan import contents
from bmc.plan.tables import Access

_INPUT = Storage(StorageKind.INPUT, 0, 256)
_RESULT = Storage(StorageKind.SLAB, 0, 256)


def rows(storage: Storage, begin: int, count: int = 1) -> Span:
    return Span(storage, 64 * begin, 64 * count)


def accesses(command: HalCommand) -> list[Access]:
    return [*[Access.READ] * (len(command.spans) - 1), Access.WRITE]


class ContentsTest(unittest.TestCase):
    def check(self, at: int, *commands: HalCommand, returned: Span | None = None) -> None:
        """Places the result `at` bytes behind or before the input."""
        entry = HostFunction(
            name="main",
            inputs=(View(rows(_INPUT, 0, 4), DType.I8, (256,)),),
            outputs=(View(returned or rows(_RESULT, 0, 4), DType.I8, (256,)),),
            slabs=(Slab(256, 0, 9),),
            commands=commands,
            driver=(),
            variable_bits=(),
        )
        contents.check(entry, (256,), (256 + at,), 1024, accesses)

    def test_a_result_may_grow_over_the_input(self) -> None:
        # Row n of the result is computed from rows n and n + 1 of the input.
        steps = [
            Dispatch("sum", (1, 1, 1), (), (rows(_INPUT, n, min(2, 4 - n)), rows(_RESULT, n)))
            for n in range(4)
        ]
        self.check(256, *steps)
        self.check(0, *steps)
        self.check(-64, *steps)
        with self.assertRaisesRegex(InternalError, "command 1 reads byte 64 of a tensor at 256"):
            self.check(64, *steps)

    def test_a_tensor_that_is_returned(self) -> None:
        early = Copy(rows(_INPUT, 0), rows(_RESULT, 0))
        self.check(256, early, returned=rows(_INPUT, 0, 4))
        with self.assertRaisesRegex(InternalError, "the caller reads byte 128"):
            self.check(128, early, returned=rows(_INPUT, 0, 4))

    def test_bytes_that_nobody_has_written(self) -> None:
        self.check(0, Copy(rows(_INPUT, 3), rows(_RESULT, 3)))


if __name__ == "__main__":
    unittest.main()
