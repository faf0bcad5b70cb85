"""What becomes a recorded run, and what does not."""

from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.run import judge, process, result, runner


class RecordTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / "run.json"

    def record(self, outcome: result.Outcome) -> tuple[int, str]:
        """Records a run that ends so; returns the status and what was said."""
        said = io.StringIO()
        with (
            mock.patch.object(process, "run", return_value=outcome) as run,
            contextlib.redirect_stderr(said),
        ):
            args = ["--deadline", "5", "--out", str(self.out), "--", "emulator"]
            status = runner.main(args)
        self.assertEqual(run.call_args.args, (["emulator"], 5))
        return status, said.getvalue()

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

    def test_a_command_without_an_emulator_is_a_sentence(self) -> None:
        for args in ([], ["--"]):
            with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
                runner.main(["--deadline", "5", "--out", str(self.out), *args])
            self.assertIn("no emulator named", said.getvalue())


if __name__ == "__main__":
    unittest.main()
