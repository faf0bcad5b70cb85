"""Tests of pages in a headless Chromium, driven by Selenium."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

_FLAGS = (
    "--headless",
    # The tests' sandbox is around it.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def start(folder: Path) -> webdriver.Chrome:
    """Starts the browser that the environment names in CHROMIUM and CHROMEDRIVER; its own files are in `folder`."""
    chromium = Path(os.environ["CHROMIUM"]).resolve()
    fonts = chromium.parents[2] / "share/fonts"
    settings = folder / "fonts.conf"
    settings.write_text(
        f"<fontconfig><dir>{fonts}</dir><cachedir>{folder}/fonts</cachedir></fontconfig>\n"
    )
    options = Options()
    options.binary_location = str(chromium)
    for flag in (*_FLAGS, f"--user-data-dir={folder}/profile"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    environment = {**os.environ, "FONTCONFIG_FILE": str(settings), "HOME": str(folder)}
    service = Service(str(Path(os.environ["CHROMEDRIVER"]).resolve()), env=environment)
    browser = webdriver.Chrome(options=options, service=service)
    # Away from Chromium's own first page, which loads a lot.
    browser.get("about:blank")
    return browser


def screenshots() -> Path:
    """The folder that a test's screenshots go into."""
    return Path(os.environ["TEST_UNDECLARED_OUTPUTS_DIR"])


class PageTest(unittest.TestCase):
    """Pages in one browser. Screenshots go to the test's outputs, for people to look at.

    Attributes:
      folder: of the browser's own files, for others as well.
    """

    folder: Path
    browser: webdriver.Chrome

    @classmethod
    def setUpClass(cls) -> None:
        # Chromium leaves files behind that disappear while they are removed.
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.browser = start(cls.folder)
        cls.addClassCleanup(cls.browser.quit)

    def visit(self, url: str, width: int, scheme: str) -> None:
        """Opens a page in a window of `width` pixels, in the color scheme `light` or `dark`, without animations."""
        self.browser.get_log("browser")
        self.browser.get_log("performance")
        self.browser.set_window_size(width, 1000)
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        listed = [{"name": name, "value": value} for name, value in features.items()]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": listed})
        self.browser.get(url)

    def show(self, html: str, *, width: int = 1280, scheme: str = "light") -> None:
        """Visits a page that is all in `html`, and fails if it is not quiet."""
        path = self.folder / "page.html"
        path.write_text(html)
        self.visit(path.as_uri(), width, scheme)
        self.check_quiet(path.as_uri())

    def check_quiet(self, *urls: str) -> None:
        """Fails if the page has written to the console, or asked for anything that does not begin with `urls`."""
        self.assertEqual(self.browser.get_log("browser"), [])
        messages = [
            json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")
        ]
        sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        asked = [params["request"]["url"] for params in sent]
        self.assertTrue(asked)
        self.assertEqual([url for url in asked if not url.startswith(("data:", *urls))], [])

    def check_width(self) -> None:
        """Fails if the page is wider than its window."""
        overflow = (
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        self.assertLessEqual(self.browser.execute_script(overflow), 0)

    def all(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements(By.CSS_SELECTOR, selector))

    def each(self, selector: str, expression: str) -> list[Any]:
        """Returns what a JavaScript expression says of each `element`."""
        script = (
            f"return Array.from(document.querySelectorAll('{selector}'), (element) => {expression})"
        )
        return list(self.browser.execute_script(script))

    def screenshot(self, name: str) -> None:
        """Saves the whole page, however long it is."""
        size = self.browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        width = self.browser.get_window_size()["width"]
        self.browser.set_window_size(width, int(size["height"]) + 140)
        self.browser.save_screenshot(str(screenshots() / f"{name}.png"))
