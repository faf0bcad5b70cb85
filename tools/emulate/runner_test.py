"""What becomes a recorded run, and what does not."""

from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.emulate import judge, process, result, runner


class RecordTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / "run.json"

    def record(self, outcome: result.Outcome) -> tuple[int, str]:
        """Records a run that ends so; returns the status and what was said."""
        said = io.StringIO()
        with (
            mock.patch.object(process, "run", return_value=outcome),
            contextlib.redirect_stderr(said),
        ):
            args = ["record", "--deadline", "5", "--out", str(self.out), "--", "emulator"]
            return runner.main(args), said.getvalue()

    def test_any_end_is_recorded_for_others_to_judge(self) -> None:
        for status in (0, 1):
            outcome = result.Outcome(("BM1 PASS cases=1",), status)
            self.assertEqual(self.record(outcome), (0, ""))
            self.assertEqual(judge.load(self.out), outcome)

    def test_run_past_its_deadline_is_not_recorded(self) -> None:
        # The firmware may have said PASS, and then did not end.
        status, said = self.record(result.Outcome(("BM1 PASS cases=1",), None))
        self.assertEqual(status, 1)
        self.assertIn("emulator did not end within 5 s", said)
        self.assertIn("BM1 PASS cases=1", said)
        self.assertFalse(self.out.exists())


class LiveTest(unittest.TestCase):
    def live(self, status: int, *args: str) -> tuple[int, str]:
        """Shows the run of an application without records; returns the status and the last line."""
        said = io.StringIO()
        outcome = result.Outcome(("digit 7",), status)
        with (
            mock.patch.object(process, "run", return_value=outcome),
            contextlib.redirect_stdout(said),
        ):
            ended = runner.main(["live", "--deadline", "5", *args, "--", "emulator"])
        return ended, said.getvalue().splitlines()[-1]

    def test_an_application_ends_as_it_was_announced(self) -> None:
        status, sentence = self.live(0, "--expect", "EXIT")
        self.assertEqual(status, 0)
        self.assertRegex(sentence, "^PASS: the application ended with exit status 0")
        for args in (("--expect", "PASS"), ()):
            status, sentence = self.live(0, *args)
            self.assertEqual(status, 1)
            self.assertRegex(sentence, "^FAIL: .* without a PASS record")
        status, sentence = self.live(7, "--expect", "EXIT")
        self.assertEqual(status, 1)
        self.assertRegex(sentence, "^FAIL: the application ended with exit status 7")


if __name__ == "__main__":
    unittest.main()
