"""What becomes of faults in a small checkout, whose tools/bazel runs its one test."""

from __future__ import annotations

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from campaign import Result

from tools.campaigns.faults import trials
from tools.campaigns.faults.table import Fault
from tools.campaigns.faults.trials import Copy
from tools.cli import UserError

# Fails as Bazel does: with 3 when a test fails, with 1 when something does not build.
_BAZEL = """#!/bin/sh
[ "$1" = test ] || exit 2
shift
if ! sh -n sum.sh; then printf '\\033[1msum.sh:1:8: \\033[0;1;31merror: \\033[0mend\\n'; exit 1; fi
grep -q static_assert sum.sh && { echo "sum.sh:1:8: error: static assertion failed"; exit 1; }
case "$*" in *//:sum_test*) ;; *) exit 4 ;; esac
[ "$(sh sum.sh 2 3)" = 5 ] && exit 0
echo "//:sum_test          FAILED in 0.1s"
exit 3
"""
_SUM = "# Adds.\necho $(($1 + $2))\n"
_WRONG = Fault("wrong", "sum.sh", "$1 + $2", "$1 - $2", "sums are wrong", ("//:sum_test",))


class TrialsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = Copy(Path(folder.name))
        (self.copy.folder / "tools").mkdir()
        self.write("tools/bazel", _BAZEL).chmod(0o755)
        self.sum = self.write("sum.sh", _SUM)

    def write(self, name: str, text: str) -> Path:
        path = self.copy.folder / name
        path.write_text(text)
        return path

    def become(self, **changes: object) -> Result:
        """What becomes of the wrong sum with these changes; whatever it is, the copy is as before."""
        (result,) = trials.run(self.copy, [(7, replace(_WRONG, **changes))])
        self.assertEqual(self.sum.read_text(), _SUM)
        self.assertEqual(result.trial, 7)
        return result

    def test_fault_that_a_test_notices(self) -> None:
        self.assertEqual(self.become(), Result(7, "killed by //:sum_test"))

    def test_harmless_change_survives(self) -> None:
        result = self.become(old="Adds", new="Adds up")
        self.assertEqual(result.outcome, "survived")
        assert result.find is not None
        self.assertIn("wrong: no test noticed it\nharm: sums are wrong\n", result.find)

    def test_harmless_change_with_a_reason_is_no_find(self) -> None:
        result = self.become(old="Adds", new="Adds up", survives="a comment does nothing")
        self.assertEqual(result, Result(7, "survived as the table says"))
        # A reason that is no longer true is one.
        result = self.become(survives="nobody adds")
        self.assertEqual(result.outcome, "killed against the table")
        self.assertIn("nobody adds", result.find or "")

    def test_fault_that_does_not_apply(self) -> None:
        result = self.become(old="$2 + $1")
        self.assertEqual(result.outcome, "did not apply")
        self.assertIn("occurs 0 times", result.find or "")
        self.assertEqual(self.become(file="none.sh").outcome, "did not apply")

    def test_slip_is_told_from_a_build_that_notices(self) -> None:
        self.assertEqual(self.become(new="$1 + (").outcome, "does not compile")
        self.assertEqual(
            self.become(new="$1 - $2)) # static_assert $((1").outcome, "killed by the build"
        )

    def test_tests_must_pass_and_exist_before(self) -> None:
        trials.check_baseline(self.copy, [_WRONG])
        with self.assertRaisesRegex(UserError, "must pass before"):
            trials.check_baseline(self.copy, [replace(_WRONG, tests=("//:none",))])
        with self.assertRaisesRegex(UserError, "status 4"):
            self.become(tests=("//:none",))
        self.write("sum.sh", "echo 6\n")
        with self.assertRaisesRegex(UserError, "FAILED"):
            trials.check_baseline(self.copy, [_WRONG])


if __name__ == "__main__":
    unittest.main()
