"""A headless Chromium for tests of pages, driven by Selenium."""

from __future__ import annotations

import os
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

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
