"""Tests the frontier of RAM and instructions: how it is found, and that of a small model on Spike."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import tempfile
import unittest
from pathlib import Path

from blank import blank

from bmc.budget import TooLittleRam
from bmc.report import Arena, Dispatch, Flash, Model
from tools.report.files import load
from tools.report.memory import frontier, memory
from tools.report.memory.points import Frontiers, Point

# What bm_trials recorded is beside its program.
_SESSION = Path(os.environ["MEMORY"]).with_suffix(".json")
_POINT = Point(100_000, 90_000, 1_000, 2_000, 3, 4, 50_000, 120_000)


def points(*sizes: tuple[int, int]) -> list[Point]:
    """Makes points of pairs of RAM and instructions."""
    return [dataclasses.replace(_POINT, ram=ram, instructions=work) for ram, work in sizes]


class FrontierTest(unittest.TestCase):
    def found(self, *sizes: tuple[int, int], refused: bool = True) -> list[int]:
        """Returns the RAM of the points of a model that can be compiled into these sizes, the last one if refused."""
        every = points(*sizes)
        self.asked: list[int | None] = []

        def compiled(ram: int | None) -> Point:
            self.asked.append(ram)
            if ram is None:
                return every[0]
            fit = [each for each in every[: -1 if refused else None] if each.ram <= ram]
            if not fit and ram >= every[-1].ram:
                return every[-1]
            if not fit:
                raise TooLittleRam("no", "", (every[-1].ram,), 300)
            return max(fit, key=lambda each: each.ram)

        made = frontier.find("m", compiled, lambda _: None)
        self.assertEqual(made.rows, 300)
        return [each.ram for each in made.points]

    def test_down_to_what_a_refusal_names(self) -> None:
        self.assertEqual(self.found((1000, 5), (700, 6), (500, 8), (450, 9)), [1000, 700, 500, 450])
        self.assertEqual(self.asked, [None, 800, 560, 400, 450, 360])

    def test_what_another_point_beats_is_left_out(self) -> None:
        self.assertEqual(self.found((1000, 5), (700, 9), (500, 8)), [1000, 500])
        self.assertEqual(self.found((1000, 5), (700, 5)), [700])

    def test_a_model_that_needs_what_it_needs(self) -> None:
        self.assertEqual(self.found((1000, 5)), [1000])
        self.assertEqual(self.asked, [None, 800])

    def test_what_a_report_says(self) -> None:
        kernels = (
            blank(Dispatch, modeled_cycles=10, uses=3),
            blank(Dispatch, modeled_cycles=None, uses=5),
        )
        flash = blank(Flash, kernels_bytes=1, weights_bytes=2, plan_bytes=4, golden_bytes=8)
        report = blank(
            Model, ram_bytes=96, arena=blank(Arena, bytes=64), dispatches=kernels, flash=flash
        )
        self.assertEqual(frontier.point(report, 77, 99), Point(96, 64, 77, 30, 1, 2, 7, 99))

    def test_a_small_model(self) -> None:
        """An MLP has no images whose rows could be computed one after the other."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "m.json"
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(memory.main(["--session", str(_SESSION), "--out", str(out)]), 0)
            (found,) = load(out, Frontiers).models
        (only,) = found.points
        self.assertEqual(found.model, "fixture")
        self.assertGreaterEqual(only.ram, only.arena)
        self.assertGreater(only.instructions, 0)
        self.assertGreater(only.cycles, 0)
        self.assertRegex(printed.getvalue(), rf"{only.ram:,} .* any +\n")
        self.assertLessEqual(found.rows, only.arena)
        self.assertIn(f"would take {found.rows:,} bytes", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
