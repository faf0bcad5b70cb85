"""Tests that blocks are apart while they live, and in as few bytes as possible."""

from __future__ import annotations

import random
import unittest
from unittest import mock

from bmc.plan import placement
from bmc.plan.placement import Block


def least(blocks: list[Block]) -> int:
    return max(sum(b.length for b in blocks if b.first <= t < b.end) for t in range(64))


class PlaceTest(unittest.TestCase):
    def place(self, *blocks: Block) -> placement.Placement:
        """Returns the places, which must be aligned and apart."""
        placed = placement.place(blocks)
        for i, a in enumerate(blocks):
            self.assertEqual(placed.offsets[i] % 64, 0)
            self.assertLessEqual(placed.offsets[i] + a.length, placed.size)
            for j, b in enumerate(blocks[:i]):
                if a.first < b.end and b.first < a.end:
                    self.assertTrue(
                        placed.offsets[i] + a.length <= placed.offsets[j]
                        or placed.offsets[j] + b.length <= placed.offsets[i],
                        (a, b),
                    )
        return placed

    def test_nothing_takes_no_memory(self) -> None:
        self.assertEqual(self.place().size, 0)

    def test_lives_that_meet_are_apart(self) -> None:
        self.assertEqual(self.place(Block(64, 0, 2), Block(64, 1, 3)).size, 128)
        self.assertEqual(self.place(Block(64, 0, 3), Block(64, 1, 2)).size, 128)

    def test_a_place_is_used_again(self) -> None:
        self.assertEqual(self.place(Block(64, 0, 2), Block(64, 2, 3)).offsets, (0, 0))
        self.assertEqual(self.place(Block(10, 0, 1), Block(3, 0, 1)).size, 128)

    def test_the_search_finds_what_largest_first_does_not(self) -> None:
        blocks = (
            Block(128, 2, 4),
            Block(256, 1, 6),
            Block(192, 3, 4),
            Block(256, 4, 6),
            Block(256, 3, 6),
        )
        with mock.patch.object(placement, "TRIES", 0):
            self.assertEqual(self.place(*blocks).size, 896)
        self.assertEqual(self.place(*blocks).size, 832)
        self.assertEqual(least(list(blocks)), 832)

    def test_random_lives(self) -> None:
        chance = random.Random(1)
        total = 0
        for _ in range(20):
            blocks = []
            for _ in range(20):
                first = chance.randrange(60)
                blocks.append(
                    Block(64 * chance.randint(1, 20), first, chance.randint(first + 1, 63))
                )
            placed = self.place(*blocks)
            self.assertGreaterEqual(placed.size, least(blocks))
            self.assertEqual(placed, placement.place(blocks))
            total += placed.size
        # Together they need 145,280 at least.
        self.assertLessEqual(total, 145_600)


if __name__ == "__main__":
    unittest.main()
