"""Tests how a run of several models is read."""

from __future__ import annotations

import unittest

import together

from tools.run.result import Outcome

_RIGHT = ("BM1 MODEL name=m", "BM1 CASE index=0 result=ok", "BM1 CASE index=1 result=ok")
_WRONG = (*_RIGHT[:2], "BM1 CASE index=1 result=mismatch")
_PASS, _TRAP = "BM1 PASS cases=2", "BM1 TRAP cause=2"


class CasesTest(unittest.TestCase):
    def test_right_and_wrong_cases_are_returned(self) -> None:
        for lines, end, status in ((_RIGHT, _PASS, 0), (_WRONG, "BM1 FAIL cases=2 failed=1", 1)):
            found = together.cases(Outcome((*lines, end), status), "here", 2)
            self.assertEqual([f"BM1 {record.text}" for record in found], list(lines[1:]))

    def test_a_run_that_ends_otherwise(self) -> None:
        for lines, status, said in (
            (_RIGHT[:2], 0, "without a PASS record"),
            ((*_RIGHT, _TRAP), 1, "TRAP"),
            ((*_RIGHT, _PASS), 3, "exit status 3"),
            ((*_WRONG, _PASS), None, "deadline"),
        ):
            with self.assertRaisesRegex(together.RunError, f"^here: .*{said}"):
                together.cases(Outcome(lines, status), "here", 2)


if __name__ == "__main__":
    unittest.main()
