"""The page in a real browser: what is drawn are the report's numbers, and names stay text."""

from __future__ import annotations

import json
import os
import unittest
from pathlib import Path
from typing import Any

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from bmc import records
from tools.report.report import Image
from tools.report.view import browser, compare, page, page_data

REPORTS = [json.loads(Path(path).read_text()) for path in os.environ["REPORTS"].split()]
HARTS_REPORT = json.loads(Path(os.environ["HARTS_REPORT"]).read_text())
D3 = Path(os.environ["D3"]).read_text()
HOSTILE = "</script><img src=x onerror=alert(1)>@@D3@@"


def built(report: dict[str, Any]) -> dict[str, Any]:
    return page_data.build(records.decode(Image, report))


def hostile(report: dict[str, Any]) -> dict[str, Any]:
    """Returns a report whose names are pieces of HTML."""
    made = json.loads(json.dumps(report))
    (model,) = made["models"]
    model["name"] = HOSTILE
    for command in model["commands"]:
        command["layer"] = HOSTILE
    for dispatch in model["dispatches"]:
        dispatch["source"] = HOSTILE
    for entry in model["entries"]:
        entry["inputs"][0]["name"] = HOSTILE
    return dict(made)


class BrowserTest(browser.PageTest):
    def open(
        self,
        report: dict[str, Any],
        *,
        width: int = 1280,
        scheme: str = "light",
        against: Any = None,
    ) -> dict[str, Any]:
        """Opens the page of a report; returns its data. Fails if that writes to the console or asks the network."""
        data = built(report)
        if against:
            data["against"] = compare.differences(built(against), data)
        self.show(page.html(data, D3), width=width, scheme=scheme)
        return data

    def values(self, selector: str) -> list[int]:
        return [int(value) for value in self.each(selector, "element.dataset.value")]

    def test_charts_hold_the_numbers_of_the_report(self) -> None:
        for report in REPORTS:
            with self.subTest(report["models"][0]["name"]):
                data = self.open(report)
                (model,), (measured,) = report["models"], report["run"]["models"]
                (entry,) = model["entries"]
                spent = [command["instructions"] for command in measured["commands"]]
                self.assertEqual(sum(self.values(".layers .bar")), sum(spent))
                self.assertEqual(len(self.all(".arena .tensor")), len(entry["tensors"]))
                self.assertEqual(len(self.all(".commands .command")), len(model["commands"]))
                self.assertEqual(len(self.all(".tree .leaf")), len(spent))
                products = [c for c in data["models"][0]["commands"] if c["macs"]]
                self.assertEqual(len(self.all(".roofline circle")), len(products))
                total = report["flash_bytes"]["total"]
                self.assertEqual(sum(self.values(".flash .bar")), total)
                self.assertEqual(sum(self.values(".ram .bar")), report["ram_bytes"]["total"])
                stored = model["flash"]["weights_distinct_bytes"]
                self.assertEqual(sum(self.values(".weights .bar")), stored)
                shown = self.browser.find_element(By.CSS_SELECTOR, ".summary").text
                self.assertIn(f"{measured['instructions']:,}", shown)
                boxes = self.each(".tree .leaf > rect", "element.getBoundingClientRect().toJSON()")
                areas = [box["width"] * box["height"] for box in boxes]
                self.assertAlmostEqual(max(areas) / sum(areas), max(spent) / sum(spent), delta=0.02)
                self.screenshot(model["name"])

    def test_a_click_on_a_command_shows_its_kernel(self) -> None:
        self.open(REPORTS[1])
        (model,) = REPORTS[1]["models"]
        panel = self.browser.find_element(By.ID, "details")
        self.assertFalse(panel.is_displayed())
        command = self.all(".commands .command")[1]
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", command)
        command.click()
        self.assertTrue(panel.is_displayed())
        kernel = model["commands"][1]["function"]
        for text in (
            kernel,
            model["commands"][1]["layer"],
            "model.py:",
            *model["code"][kernel]["hot_loop"],
        ):
            self.assertIn(text, panel.text)
        self.browser.save_screenshot(str(browser.screenshots() / "details.png"))
        self.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.assertFalse(panel.is_displayed())
        # The largest bar leads to the same panel.
        bar = self.all(".layers .bar-row .label")[0]
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", bar)
        bar.click()
        self.assertTrue(panel.is_displayed())

    def test_dark_and_narrow(self) -> None:
        grounds = {}
        for scheme, width in (("light", 1280), ("dark", 600)):
            self.open(REPORTS[1], scheme=scheme, width=width)
            body = self.browser.find_element(By.TAG_NAME, "body")
            grounds[scheme] = body.value_of_css_property("background-color")
            self.check_width()
            self.screenshot(f"{scheme}_{width}")
        self.assertNotEqual(grounds["light"], grounds["dark"])

    def test_a_model_without_vectors_has_no_bound(self) -> None:
        report = json.loads(json.dumps(REPORTS[0]))
        report["run"]["boot"]["vlen"] = "0"
        self.open(report)
        self.assertEqual(self.all(".roofline, .layers .mark"), [])
        self.assertEqual(len(self.all(".layers .bar.unknown")), 3)
        self.assertIn("no bound", self.browser.find_element(By.CSS_SELECTOR, ".layers").text)

    def test_a_lane_for_each_hart(self) -> None:
        self.open(REPORTS[1])
        self.assertEqual(self.all(".harts"), [])
        self.open(HARTS_REPORT)
        (measured,) = HARTS_REPORT["run"]["models"]
        harts = measured["harts"]
        lanes = self.all(".harts .lane")
        self.assertEqual(len(lanes), harts["count"])
        for lane, work in zip(lanes, harts["work"], strict=True):
            whole, *shares = (
                piece.rect["width"] for piece in lane.find_elements(By.TAG_NAME, "rect")
            )
            self.assertAlmostEqual(sum(shares) / whole, work / harts["critical"], delta=0.03)
        shown = self.browser.find_element(By.CSS_SELECTOR, ".harts").text
        self.assertIn(f"{harts['critical']:,} instructions", shown)
        self.screenshot("harts")

    def test_hostile_names_stay_text(self) -> None:
        report = hostile(REPORTS[1])
        self.open(report, against=report)
        self.assertEqual(self.all("img"), [])
        self.assertIn(HOSTILE, self.browser.find_element(By.CSS_SELECTOR, "h2").text)
        self.assertIn(HOSTILE, self.browser.find_element(By.CSS_SELECTOR, ".layers").text)
        self.screenshot("hostile")

    def test_frontier(self) -> None:
        sizes = [(60_000, 1_000), (40_000, 1_010), (20_000, 1_200)]
        data = built(REPORTS[1])
        data["models"][0]["frontier"] = [
            {"ram": ram, "instructions": work, "cycles": 5, "flash": 9} for ram, work in sizes
        ]
        self.show(page.html(data, D3))
        self.assertEqual(self.values(".frontier circle"), [ram for ram, _ in sizes])
        places = self.each(
            ".frontier circle", "[element.cx, element.cy].map((at) => at.baseVal.value)"
        )
        (x0, y0), _, (x2, y2) = places
        self.assertLess(x2, x0)
        self.assertLess(y2, y0)
        self.screenshot("frontier")

    def test_differences(self) -> None:
        before = json.loads(json.dumps(REPORTS[1]))
        (measured,) = before["run"]["models"]
        measured["commands"][0]["instructions"] -= 1000
        before["flash_bytes"]["weights"] += 5
        self.open(REPORTS[1], against=before)
        rows = self.each(".differences .difference", "element.innerText")
        self.assertEqual(len(rows), 2)
        self.assertRegex(rows[0], r"^weights\s.*\s−5 ")
        self.assertRegex(rows[1], r"\s\+1,000 \(\+")
        self.screenshot("differences")


if __name__ == "__main__":
    unittest.main()
