"""A campaign counts what happened, keeps every find and can repeat one trial."""

from __future__ import annotations

import io
import tempfile
import unittest
from pathlib import Path

import campaign
from campaign import Budget, Result
from rich.console import Console

from tools import cli


class CampaignTest(unittest.TestCase):
    def setUp(self) -> None:
        self._text = io.StringIO()
        self._console = Console(file=self._text, width=200)

    def _run(self, results: list[Result], finds: Path) -> int:
        return campaign.run(
            "drops", results, count=len(results), finds=finds, console=self._console
        )

    def test_a_find_is_kept_and_fails(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            finds = Path(root) / "finds"
            status = self._run([Result(7, "right"), Result(8, "wrong", "seed 1, trial 8")], finds)
            self.assertEqual(status, 1)
            self.assertEqual((finds / "drops_8.txt").read_text(), "seed 1, trial 8")
            self.assertEqual([path.name for path in finds.iterdir()], ["drops_8.txt"])
        self.assertIn("drops: 2 trials, 1 finds", self._text.getvalue())

    def test_without_finds_it_passes_and_writes_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            finds = Path(root) / "finds"
            self.assertEqual(self._run([Result(0, "right"), Result(1, "right")], finds), 0)
            self.assertFalse(finds.exists())
        self.assertIn("2 right", self._text.getvalue())

    def test_a_trial_repeats_alone(self) -> None:
        whole = {i: Budget(1, 0, 9).random(i).random() for i in Budget(1, 0, 9).trials()}
        alone = Budget(1, 5, 1)
        self.assertEqual([alone.random(i).random() for i in alone.trials()], [whole[5]])
        self.assertEqual(len(set(whole.values())), 9)
        self.assertNotEqual(Budget(2, 5, 1).random(5).random(), whole[5])

    def test_arguments(self) -> None:
        made = cli.Parser()
        campaign.add_arguments(made, count=10)
        options = made.parse_args(["--seed", "3", "--first", "5", "--count", "1"])
        self.assertEqual(campaign.budget(options), Budget(3, 5, 1))
        with self.assertRaises(SystemExit):
            made.parse_args(["--count", "-1"])


if __name__ == "__main__":
    unittest.main()
