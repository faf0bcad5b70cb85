"""Tests what is said about functions that no kernel library defines."""

from __future__ import annotations

import dataclasses
import unittest

from blank import blank

from bmc.report import Call, Dispatch, Model
from tools.report.kernel_libraries import functions

_CALL = Call("//k:vendor", "product", "")


def _report(*calls: tuple[str, Call | None]) -> Model:
    return blank(Model, dispatches=tuple(blank(Dispatch, op=op, call=call) for op, call in calls))


_REPORT = _report(("matmul_4x4x4_f32", _CALL), ("matmul_4x4x4_f32", _CALL), ("softmax", None))


class FunctionsTest(unittest.TestCase):
    def test_what_is_defined_is_no_problem(self) -> None:
        self.assertEqual(functions.problems(_REPORT, {"product", "other"}), [])

    def test_a_missing_function_is_named_once_with_those_that_there_are(self) -> None:
        (problem,) = functions.problems(_REPORT, {"produkt"})
        for part in ("//k:vendor", "'matmul_4x4x4_f32'", "'product'", "they define produkt"):
            self.assertIn(part, problem)

    def test_a_missing_function_that_waits_is_named(self) -> None:
        report = _report(("softmax", dataclasses.replace(_CALL, wait="drain")))
        (problem,) = functions.problems(report, {"product"})
        self.assertIn("with 'drain'", problem)

    def test_a_large_library_is_not_listed(self) -> None:
        (problem,) = functions.problems(_REPORT, {f"f{number}" for number in range(9)})
        self.assertNotIn("they define", problem)


if __name__ == "__main__":
    unittest.main()
