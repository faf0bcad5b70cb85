"""Baselines: what they hold, and how they are renewed."""

from __future__ import annotations

import unittest
from typing import Any

from blank import blank

from tools.cli import UserError
from tools.report import baseline
from tools.report.report import Flash, Image, Ram, Run


class BaselineTest(unittest.TestCase):
    TEXT = "# why\nm vlen=256 arena_bytes=1000 instructions=5000\n"

    def report(self, instructions: int = 5000, arena: int = 1000, vlen: str = "256") -> Image:
        run = blank(Run, boot={"vlen": vlen}, instructions=instructions)
        return blank(
            Image, flash_bytes=blank(Flash), ram_bytes=blank(Ram, arena=arena), models=(), run=run
        )

    def check(self, **numbers: Any) -> list[str]:
        return baseline.check(baseline.read(self.TEXT), "m", self.report(**numbers))

    def test_two_percent_either_way_are_nothing(self) -> None:
        self.assertEqual(self.check(), [])
        self.assertEqual(self.check(instructions=5100, arena=980), [])

    def test_worse(self) -> None:
        wanted = "instructions of m is 5,101, 2.0 % worse than its baseline of 5,000"
        self.assertEqual(self.check(instructions=5101), [wanted])

    def test_better_without_renewing(self) -> None:
        wanted = "arena_bytes of m is 900, 10.0 % better than its baseline of 1,000"
        self.assertEqual(self.check(arena=900), [wanted])

    def test_another_machine_is_no_comparison(self) -> None:
        (problem,) = self.check(instructions=9999, vlen="128")
        self.assertEqual(problem, "m ran at VLEN 128, the baseline is for 256")

    def test_a_file_that_says_nothing_about_the_image(self) -> None:
        with self.assertRaisesRegex(UserError, "no line for n"):
            baseline.check(baseline.read(self.TEXT), "n", self.report())
        for line, message in (
            ("m arena_bytes=1", "line 1 is not"),
            ("m vlen=256 arena_bytes=few", "line 1 is not"),
            ("m vlen=256\nm vlen=256", "line 2 is the second one for m"),
        ):
            with self.assertRaisesRegex(UserError, message):
                baseline.read(line)
        with self.assertRaisesRegex(UserError, "`arena_bites`"):
            baseline.check(baseline.read("m vlen=256 arena_bites=1"), "m", self.report())

    def test_renewed(self) -> None:
        reports = {"m": self.report(instructions=4000), "a": self.report()}
        text = baseline.renew(self.TEXT, reports)
        comment, new, old = text.splitlines()
        self.assertEqual(comment, "# why")
        # A line keeps what it holds; a new one holds the usual.
        self.assertEqual(old, "m vlen=256 arena_bytes=1000 instructions=4000")
        self.assertRegex(
            new, r"^a vlen=256 instructions=5000 arena_bytes=1000 flash_bytes=\d+ kernel_bytes=\d+$"
        )
        for image, measured in reports.items():
            self.assertEqual(baseline.check(baseline.read(text), image, measured), [])


if __name__ == "__main__":
    unittest.main()
