"""How far a run is said to be."""

from __future__ import annotations

import unittest

from blank import blank

from bmc import report
from tools.run import result
from tools.run.progress import Model, Tally

REPORT = blank(
    report.Model,
    golden=blank(report.Golden, cases=2),
    dispatches=(blank(report.Dispatch, name="k", macs=600),),
    commands=(
        blank(report.Command, function="k", bytes=100),
        blank(report.Command, bytes=200),
    ),
)


class TallyTest(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 0.0
        self.tally = Tally({"a": Model.of(REPORT), "b": Model(1, (400,))}, lambda: self.now)

    def say(self, *lines: str) -> None:
        for record in result.parse(f"BM1 {line}" for line in lines):
            self.tally.add(record)

    def test_work_is_products_or_bytes(self) -> None:
        self.assertEqual(Model.of(REPORT), Model(2, (600, 200)))
        self.assertEqual(self.tally.total, 2 * 800 + 400)

    def test_dispatches_count_until_their_case_has_ended(self) -> None:
        self.assertEqual((self.tally.done, self.tally.sentence()), (0, "starting"))
        self.say("MODEL name=a")
        self.now = 2.0
        self.say("DISPATCH index=0 instret=5000000")
        self.assertEqual(self.tally.done, 600)
        self.assertEqual(
            self.tally.sentence(), "a: case 1 of 2, dispatch 1 of 2, 2.5 M instructions/s"
        )
        # A loop runs it again.
        self.say("DISPATCH index=0 instret=5000000")
        self.assertEqual(self.tally.done, 600)
        self.say("DISPATCH index=1 instret=9", "CASE index=0")
        self.assertEqual((self.tally.done, self.tally.sentence()), (800, "a: case 2 of 2"))

    def test_models_add_up(self) -> None:
        self.say("MODEL name=a", "CASE index=0", "CASE index=1", "MODEL name=b")
        self.assertEqual((self.tally.done, self.tally.sentence()), (1600, "b: case 1 of 1"))
        self.say("CASE index=0")
        self.assertEqual(self.tally.done, self.tally.total)

    def test_a_model_without_a_report_is_not_counted(self) -> None:
        self.say("MODEL name=x", "DISPATCH index=7 instret=1", "CASE index=0")
        self.assertEqual((self.tally.done, self.tally.sentence()), (0, "starting"))


if __name__ == "__main__":
    unittest.main()
