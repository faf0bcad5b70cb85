"""Tests what is said about kernel libraries beside IREE's kernels."""

from __future__ import annotations

import io
import unittest

from blank import blank
from rich.console import Console

from bmc.report import Call, Command, Dispatch, Model
from tools.report.kernel_libraries import compare
from tools.run.result import Outcome, RecordError

_REPORT = blank(
    Model,
    dispatches=(
        blank(Dispatch, name="f", call=Call("//k:fast", "fast", "")),
        blank(Dispatch, name="g"),
    ),
    commands=(
        blank(Command, function="g"),
        blank(Command, function="f", layer="encoder.0 (Linear)"),
    ),
)
_RECORD = (
    "BM1 KERNEL index=1 result={} max_abs=1.5e-06 differing=3 plain={} library={} plain_cycles=90"
    " library_cycles=45"
)


def _shown(*lines: str) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(compare.table(_REPORT, Outcome(lines, 0)))
    return out.getvalue()


class CompareTest(unittest.TestCase):
    def test_a_row_has_costs_layer_and_function(self) -> None:
        text = _shown(_RECORD.format("ok", 3000, 1200))
        self.assertRegex(
            text, r"3,000 +1,200 +2\.50 +1\.5e-06 +encoder\.0 \(Linear\)  f  fast of //k:fast"
        )
        self.assertRegex(text, r"3,000 +1,200 +2\.50 +together")
        self.assertNotIn("differs", text)

    def test_what_differs_is_marked(self) -> None:
        self.assertIn("(differs)", _shown(_RECORD.format("mismatch", 3000, 1200)))

    def test_cycles_stand_for_instructions_that_the_machine_cannot_count(self) -> None:
        text = _shown(_RECORD.format("ok", 0, 0))
        self.assertIn("IREE's cycles", text)
        self.assertRegex(text, r"90 +45 +2\.00")

    def test_a_record_that_lost_bytes_is_refused(self) -> None:
        with self.assertRaises(RecordError):
            _shown("BM1 KERNEL index=1 result=ok")


if __name__ == "__main__":
    unittest.main()
