"""The page that compares models, in a real browser."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

from bmc import records
from tools.report.report import Image
from tools.report.view import browser, overview

REPORT_PATHS = [Path(path) for path in os.environ["REPORTS"].split()]
REPORTS = [json.loads(path.read_text()) for path in REPORT_PATHS]
D3 = Path(os.environ["D3"]).read_text()
HOSTILE = "</script><img src=x onerror=alert(1)>"


def html(reports: list[dict[str, Any]]) -> str:
    return overview.html([records.decode(Image, report) for report in reports], D3)


class OverviewTest(browser.PageTest):
    def column(self, number: int) -> list[str]:
        """Returns the cells of a column, counted from 1, from the top."""
        return list(self.each(f"tbody td:nth-child({number})", "element.textContent"))

    def click_heading(self, number: int) -> str:
        (head,) = self.all(f"th:nth-child({number})")
        head.click()
        return str(head.get_attribute("aria-sort"))

    def test_the_table_has_the_numbers_of_the_reports(self) -> None:
        self.show(html(REPORTS))
        self.assertEqual(self.column(1), ["fixture", "resnet8"])
        self.assertEqual(self.column(2), ["f32", "int8"])
        flash = [r["flash_bytes"]["total"] - r["flash_bytes"]["golden"] for r in REPORTS]
        self.assertEqual(self.column(3), [f"{value:,}" for value in flash])
        instructions = [report["run"]["instructions"] for report in REPORTS]
        self.assertEqual(self.column(6), [f"{value:,}" for value in instructions])
        for text in self.column(9):
            self.assertRegex(text, r"^\d+ %$")
        self.assertEqual(len(self.all(".scatter circle")), 2)

    def test_a_click_on_a_heading_sorts_and_another_turns_it_around(self) -> None:
        self.show(html(REPORTS[::-1]))
        self.assertEqual(self.column(1), ["resnet8", "fixture"])
        self.assertEqual(self.click_heading(6), "ascending")
        self.assertEqual(self.column(1), ["fixture", "resnet8"])
        self.assertEqual(self.click_heading(6), "descending")
        self.assertEqual(self.column(1), ["resnet8", "fixture"])
        # Numbers sort as numbers: as text, 1... comes before 5...
        flash = [int(cell.replace(",", "")) for cell in self.column(3)]
        self.assertNotEqual(sorted(flash), sorted(flash, key=str))
        self.assertEqual(self.click_heading(3), "ascending")
        self.assertEqual(self.column(3), [f"{value:,}" for value in sorted(flash)])

    def test_dark_and_narrow(self) -> None:
        for scheme, width in (("light", 1280), ("dark", 1280), ("dark", 600)):
            self.show(html(REPORTS), scheme=scheme, width=width)
            self.check_width()
            self.screenshot(f"{scheme}_{width}")

    def test_a_model_without_vectors_has_no_bound(self) -> None:
        scalar: dict[str, Any] = json.loads(json.dumps(REPORTS[0]))
        scalar["run"]["boot"]["vlen"] = "0"
        self.show(html([scalar]))
        self.assertEqual(self.column(9), [""])

    def test_hostile_names_stay_text(self) -> None:
        hostile: dict[str, Any] = json.loads(json.dumps(REPORTS[0]))
        hostile["models"][0]["name"] = HOSTILE
        self.show(html([hostile]))
        self.assertEqual(self.all("img"), [])
        self.assertEqual(self.column(1), [HOSTILE])

    def test_mistakes_are_sentences(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            damaged, other = folder / "damaged.json", folder / "other.json"
            damaged.write_text("{")
            other.write_text("{}")
            report, page = REPORT_PATHS[0], folder / "page.html"
            for path, out, message in (
                (folder / "none.json", page, "none.json cannot be read: No such file"),
                (damaged, page, "damaged.json is not JSON"),
                (other, page, "other.json is not a report of an image with a run"),
                (report, folder / "none/page.html", "page.html cannot be written: No such file"),
            ):
                with (
                    self.subTest(message),
                    contextlib.redirect_stderr(io.StringIO()) as said,
                ):
                    arguments = [str(path), "--d3", os.environ["D3"], "--out", str(out)]
                    self.assertEqual(overview.main(arguments), 1)
                    self.assertIn(message, said.getvalue())
                    self.assertEqual(said.getvalue().count("\n"), 1)
                    self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
