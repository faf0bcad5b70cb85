"""Tests of what lies in fast memory, and of the copies that get it there."""

from __future__ import annotations

import unittest

from bmc.dtype import DType
from bmc.facts.operands import Kernel, Operand
from bmc.host.program import (
    Copy,
    Dispatch,
    HostFunction,
    Run,
    Slab,
    Span,
    Statement,
    Storage,
    StorageKind,
    View,
)
from bmc.plan import fast
from bmc.plan.fast import Memories
from bmc.plan.placement import Block

_INPUT = Span(Storage(StorageKind.INPUT, 0, 1024), 0, 1024)
# Two tensors between three kernels, and what the last kernel returns.
_A, _B, _RESULT = (Span(Storage(StorageKind.SLAB, i, 1024), 0, 1024) for i in range(3))
_WEIGHTS = Span(Storage(StorageKind.CONSTANT, 0, 4096), 64, 512)


def kernel(macs: int) -> Kernel:
    """A product: numbers of an image, weights, and a result."""
    shapes = [("i8", (1024,)), ("i8", (512,)), ("i8", (1024,))]
    return Kernel(
        tuple(
            Operand(i, 0, dtype, shape, i < 2, i == 2, None, 1)
            for i, (dtype, shape) in enumerate(shapes)
        ),
        "",
        macs,
        "i32",
    )


# Each weight of the first one is used 1,024 times, of the second one 8 times.
_KERNELS = {"often": kernel(1024 * 512), "seldom": kernel(8 * 512)}


def placed(
    memories: Memories, first: str = "often", driver: tuple[Statement, ...] = ()
) -> fast.Placed:
    commands = tuple(
        Dispatch(function, (1, 1, 1), (), (source, _WEIGHTS, target))
        for function, source, target in (
            (first, _INPUT, _A),
            ("seldom", _A, _B),
            ("seldom", _B, _RESULT),
        )
    )
    lives = ((0, 2), (1, 3), (2, 4))
    entry = HostFunction(
        "main",
        (View(_INPUT, DType.I8, (1024,)),),
        (View(_RESULT, DType.I8, (1024,)),),
        tuple(Slab(1024, *life) for life in lives),
        commands,
        driver,
    )
    blocks = [Block(1024, 0, 1), *(Block(1024, *life) for life in lives)]
    return fast.place(entry, blocks, _KERNELS, memories)


class FastTest(unittest.TestCase):
    def test_weights_that_are_read_often_are_copied_before_they_are_used(self) -> None:
        found = placed(Memories(512, fast=1, arena=1, weights=9))
        copy, first, second, _ = found.entry.commands
        target = Span(Storage(StorageKind.SLAB, 3, 512), 0, 512)
        self.assertEqual(copy, Copy(_WEIGHTS, target))
        assert isinstance(first, Dispatch) and isinstance(second, Dispatch)
        self.assertEqual(first.bindings, (_INPUT, target, _A))
        self.assertEqual(second.bindings, (_A, _WEIGHTS, _B))
        # Alive in the copy and its reader; all that comes later is one command later.
        self.assertEqual(found.entry.slabs[3], Slab(512, 0, 2))
        self.assertEqual(found.entry.slabs[1], Slab(1024, 2, 4))
        self.assertEqual((found.offsets, found.size), ({3: 0}, 512))

    def test_what_a_copy_costs_more_than_it_saves_stays(self) -> None:
        for memories, first in (
            (Memories(512, fast=1, arena=1, weights=9), "seldom"),
            (Memories(512, fast=1, arena=1, weights=1), "often"),
            (Memories(511, fast=1, arena=1, weights=9), "often"),
        ):
            found = placed(memories, first)
            self.assertEqual((len(found.entry.commands), found.offsets), (3, {}))

    def test_a_driver_gets_no_copies(self) -> None:
        found = placed(Memories(2048, fast=1, arena=2, weights=9), driver=(Run(0, 3),))
        self.assertEqual((len(found.entry.commands), set(found.offsets)), (3, {0, 1}))

    def test_tensors_are_where_they_are_alive_together(self) -> None:
        memories = Memories(2048, fast=1, arena=3, weights=3)
        found = placed(memories, "seldom")
        # Not the result, which the caller reads in the arena.
        self.assertEqual((found.offsets, found.size), ({0: 0, 1: 1024}, 2048))
        little = placed(Memories(2047, fast=1, arena=3, weights=3), "seldom")
        self.assertEqual((len(little.offsets), little.size), (1, 1024))

    def test_an_arena_as_fast_as_fast_memory_keeps_its_tensors(self) -> None:
        self.assertEqual(placed(Memories(4096, 2, 2, 2)).offsets, {})


if __name__ == "__main__":
    unittest.main()
