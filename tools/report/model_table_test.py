"""The README's table: made from a report and put in its place."""

from __future__ import annotations

import unittest

from blank import blank

from bmc.report import Arena, Entry, Model
from tools.cli import UserError
from tools.report import model_table, size
from tools.report.report import Flash, Image, Ram
from tools.run import result

LINES = (
    "BM1 BOOT isa=i vlen=256 board=b",
    "BM1 MODEL name=net_int8",
    "BM1 CASE index=0 result=ok max_abs=1.000000e+00 differing=2 cosine=- hash=0",
    "BM1 CASE index=1 result=ok max_abs=0.000000e+00 differing=0 cosine=- hash=0",
    "BM1 STATS instret=3000 cycles=0 arena=8 stack=100 walker=1 workgroup=1",
    "BM1 PASS cases=2",
)
ACCURACY = "BM1 ACCURACY correct=9 total=10 framework=9"


def report(lines: tuple[str, ...], macs: int = 2000) -> Image:
    model = blank(
        Model,
        arena=blank(Arena, bytes=64, liveness_bound_bytes=48),
        entries=(blank(Entry, name="main"),),
        frontend="tflite",
        macs={"main": macs},
        name="net_int8",
        parameters=780,
    )
    return blank(
        Image,
        flash_bytes=blank(Flash, golden=500, kernels=100, total=1700, weights=800),
        models=(model,),
        ram_bytes=blank(Ram, arena=64),
        run=size.run_summary(result.Outcome(lines, 0)),
    )


class RowTest(unittest.TestCase):
    def test_numbers(self) -> None:
        self.assertEqual(
            model_table.row(report(LINES)),
            "| `net` | tflite | int8 | 2,000 | 780 | 1,200 | 64 | 48 | 3,000 | 1.50 | error 1.0e+00 |",
        )

    def test_exact_and_accurate(self) -> None:
        case = LINES[3].replace("index=1", "index=0")
        exact = (*LINES[:2], case, LINES[4], ACCURACY, LINES[5].replace("2", "1"))
        self.assertTrue(
            model_table.row(report(exact)).endswith("| 9 of 10 right on both; bit-exact |")
        )

    def test_a_model_without_products(self) -> None:
        self.assertIn("| 3,000 | - |", model_table.row(report(LINES, macs=0)))


class DocumentTest(unittest.TestCase):
    OLD, NEW, OTHER = (
        "| `net` | a | f32 | 1 |",
        "| `net` | a | f32 | 2 |",
        "| `net` | a | int8 | 3 |",
    )

    def document(self, *rows: str) -> str:
        return f"above\n{model_table.BEGIN}\n{model_table.table(list(rows))}\n{model_table.END}\nbelow\n"

    def test_first_time(self) -> None:
        empty = f"above\n{model_table.BEGIN}\n{model_table.END}\nbelow\n"
        self.assertEqual(model_table.update(empty, [self.NEW], ["net"]), self.document(self.NEW))

    def test_other_rows_stay(self) -> None:
        old = self.document(self.OLD, self.OTHER)
        self.assertEqual(
            model_table.update(old, [self.NEW], ["net"]), self.document(self.NEW, self.OTHER)
        )

    def test_order_is_that_asked_for(self) -> None:
        first = "| `zoo` | a | f32 | 4 |"
        old = self.document(self.OTHER, self.OLD, "| `gone` | a | f32 | 5 |")
        self.assertEqual(
            model_table.update(old, [first], ["zoo", "net"]),
            self.document(first, self.OLD, self.OTHER),
        )

    def test_a_row_that_is_not_what_is_measured_is_named(self) -> None:
        model_table.check(self.document(self.NEW, self.OTHER), [self.NEW], ["net"])
        with self.assertRaisesRegex(UserError, r":\n\| `net` \| a \| f32 \| 2 \|$"):
            model_table.check(self.document(self.OLD, self.OTHER), [self.NEW], ["net"])
        trained = "| `net` | a | f32 | 1,000 | 0.11 | error 1.2e-07 |"
        again = "| `net` | a | f32 | 1,009 | 0.12 | error 1.8e-07 |"
        model_table.check(self.document(trained), [again], ["net"])
        for other in (again.replace("1,009", "1,011"), again.replace("error 1.8e-07", "bit-exact")):
            with self.assertRaises(UserError):
                model_table.check(self.document(trained), [other], ["net"])

    def test_no_place(self) -> None:
        with self.assertRaisesRegex(UserError, "no line"):
            model_table.update("a README", [self.NEW], ["net"])


if __name__ == "__main__":
    unittest.main()
