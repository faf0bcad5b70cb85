"""Tests the lists, and the page that is made of them."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import lists
import page
from case import NO_CASE, Outcome, Verdict
from lists import Row

_RIGHT = Verdict(Outcome.RIGHT)
_REFUSED = Verdict(Outcome.REFUSED, "op-rejected: no 'Abs' | here")


class ListsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "lists", "a.txt")

    def test_a_list_is_read_as_it_was_written(self) -> None:
        rows = [
            Row("Abs", "f32", "b", "", _RIGHT),
            Row("Abs", "string", "a", "strings", _REFUSED),
            Row("Abs", "f32", "c", NO_CASE, _REFUSED),
        ]
        lists.write(self.path, rows)
        self.assertEqual(list(lists.read(self.path).values()), [rows[1], rows[0]])

    def test_a_log_goes_on_behind_a_line_that_was_cut(self) -> None:
        lists.write(self.path, [Row("Abs", "f32", "a", "", _REFUSED)])
        lists.add(self.path, [Row("Abs", "f32", "a", "", _RIGHT)])
        with self.path.open("a", encoding="utf-8") as file:
            file.write("right\tAbs")
        self.assertEqual(list(lists.read(self.path).values()), [Row("Abs", "f32", "a", "", _RIGHT)])
        self.path.write_text("something else\n", encoding="utf-8")
        with self.assertRaises(ValueError):
            lists.read(self.path)


class PageTest(unittest.TestCase):
    def test_dtypes_with_one_verdict_share_a_row(self) -> None:
        rows = [
            Row("Abs", "f32", "a", "", _RIGHT),
            Row("Abs", "f16", "b", "", _RIGHT),
            Row("Abs", "i8", "c", "", _RIGHT),
            Row("Abs", "i8", "d", "", _REFUSED),
            Row("Abs", "i8", "e", "", Verdict(Outcome.WRONG, "off by <1>")),
            Row("Abs", "string", "f", "strings", _REFUSED),
        ]
        text = page.page({"onnx": rows}, {"onnx": "onnx 1"})
        self.assertIn("| Abs | f16, f32 | 2 of 2 | |", text)
        # A wrong answer is worse than none.
        self.assertIn("| Abs | i8 | 1 of 3 | wrong: off by &lt;1> |", text)
        self.assertIn("| ONNX | 6 | 1 | 3 | 1 | 0 | 0 | 1 | 0 | 60.0 % |", text)


if __name__ == "__main__":
    unittest.main()
