"""Tests the search for a way to compile a model into a number of bytes."""

from __future__ import annotations

import dataclasses
import unittest

from outlines import network

from bmc import budget
from bmc.budget import Attempt, Cuts, TooLittleRam


class FitTest(unittest.TestCase):
    def attempt(self, cuts: Cuts, scratch: int | None = None) -> Attempt[Cuts]:
        """A compiler that needs 10 % more than the outline estimates; kernels take 100 bytes of scratch, or 20."""
        self.attempts.append(cuts)
        outline = network(16, 64, 8)
        sizes = [outline.bytes_alive(n) for n in range(len(outline.stages))]
        arena = max(sizes)
        for cut in cuts.get("main", ()):
            arena = outline.bytes_in_strips(cut.first, cut.last, cut.rows)
        return Attempt(
            cuts,
            arena * 11 // 10,
            0,
            100 if scratch is None else 20,
            sum(100 // cut.rows for cut in cuts.get("main", ())),
            "'conv 1'",
            {"main": outline},
        )

    def setUp(self) -> None:
        self.attempts: list[Cuts] = []

    def test_nothing_is_cut_for_nothing(self) -> None:
        self.assertEqual(budget.fit(self.attempt, 100_000).result, {})
        self.assertEqual(self.attempts, [{}])

    def test_kernels_with_less_scratch_come_before_cuts(self) -> None:
        whole = self.attempt({}).arena
        found = budget.fit(self.attempt, whole + 50)
        self.assertEqual((found.result, found.scratch), ({}, 20))

    def test_an_estimate_that_is_too_low_is_mended(self) -> None:
        for ram in (60_000, 30_000, 21_000):
            with self.subTest(ram):
                found = budget.fit(self.attempt, ram)
                self.assertLessEqual(found.ram, ram)
                self.assertTrue(found.result)

    def test_pixels_are_tried_if_planes_do_not_fit(self) -> None:
        """Planes take twice of what strips are estimated to take."""

        def attempt(cuts: Cuts, scratch: int | None) -> Attempt[Cuts]:
            made = self.attempt(cuts, scratch)
            is_planes = not all(cut.pixels for cut in cuts.get("main", ()))
            return dataclasses.replace(made, arena=made.arena * (1 + is_planes))

        found = budget.fit(attempt, 30_000)
        self.assertTrue(all(cut.pixels for cut in found.result["main"]))
        # Planes that fit too are better if they take fewer instructions.
        fitting = [each for each in map(attempt, self.attempts, [None] * 99) if each.ram <= 30_000]
        self.assertEqual(found.instructions, min(each.instructions for each in fitting))
        self.assertFalse(any(cut.pixels for cut in budget.fit(self.attempt, 30_000).result["main"]))

    def test_a_number_that_the_search_for_a_smaller_one_finds(self) -> None:
        """What estimates miss differs from cut to cut, so that the first search misses what fits."""

        def attempt(cuts: Cuts, scratch: int | None) -> Attempt[Cuts]:
            made = self.attempt(cuts, scratch)
            missed = sum(cut.rows * 4 + cut.first for cut in cuts.get("main", ())) % 7
            return dataclasses.replace(made, arena=made.arena * (10 + missed) // 11, scratch=0)

        self.assertLessEqual(budget.fit(attempt, 24_717).ram, 24_717)

    def test_a_number_that_is_too_small(self) -> None:
        with self.assertRaises(TooLittleRam) as caught:
            budget.fit(self.attempt, 5_000)
        error = caught.exception
        self.assertEqual(error.kind, "too-little-ram")
        least = min(self.attempt(cuts).ram for cuts in tuple(self.attempts))
        self.assertIn("does not fit into 5,000 bytes of RAM", error.message)
        self.assertIn(f"the least that was found is {least:,}", error.message)
        self.assertIn("'conv 1'", error.message)
        self.assertIn(f"tensors would take {error.rows:,}", error.message)
        self.assertLess(error.rows, least)
        self.assertLess(len(self.attempts), 40)
        # Each number that it names is one that fits.
        self.assertEqual(error.sizes[0], least)
        for size in error.sizes:
            with self.subTest(size):
                self.assertLessEqual(budget.fit(self.attempt, size).ram, size)


if __name__ == "__main__":
    unittest.main()
