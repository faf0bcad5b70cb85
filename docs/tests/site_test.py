"""The built site: everything it needs is in it, every link in it leads somewhere, and the reference is complete."""

from __future__ import annotations

import json
import os
import re
import unittest
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.dev.site import c_headers, starlark_files
from tools.dev.site.pages import page_of

ROOT = Path(os.environ["TREE"]).resolve().parent
SITE = Path(os.environ["SITE"])


class Page(HTMLParser):
    """Collects what a page links to, what it loads, and the places in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.places |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.links.add(said["href"])
        elif tag == "link" and said.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.add(said["href"])
        elif tag in ("img", "script", "iframe", "source") and "src" in said:
            self.loads.add(said["src"])


PAGES = {
    str(file.relative_to(SITE)): Page(file.read_text(encoding="utf-8"))
    for file in sorted(SITE.rglob("*.html"))
}


def dangling(name: str, link: str) -> bool:
    """Whether a link within the site leads to no file, or to no place on its page."""
    parts = urlsplit(link)
    if parts.scheme:
        return False
    target = os.path.normpath(Path(name).parent / unquote(parts.path)) if parts.path else name
    if not parts.fragment or target not in PAGES:
        return not (SITE / target).is_file()
    return unquote(parts.fragment) not in PAGES[target].places


class SiteTest(unittest.TestCase):
    def test_every_link_leads_somewhere(self) -> None:
        found = {(name, link) for name, page in PAGES.items() for link in page.links}
        self.assertEqual({pair for pair in found if dangling(*pair)}, set())
        self.assertGreater(len(found), 1000)
        self.assertTrue(dangling("index.html", "gone.html"))
        self.assertTrue(dangling("index.html", "README.html#gone"))

    def test_nothing_is_loaded_from_elsewhere(self) -> None:
        loads = {(name, link) for name, page in PAGES.items() for link in page.loads}
        self.assertEqual(
            {pair for pair in loads if urlsplit(pair[1]).scheme or dangling(*pair)}, set()
        )
        self.assertGreater(len(loads), 100)
        for style in SITE.rglob("*.css"):
            self.assertNotRegex(style.read_text(), r"url\([\"']?(https?:)?//|@import")

    def test_the_readmes_picture_is_in_it(self) -> None:
        self.assertIn("_images/bert.svg", PAGES["README.html"].loads)

    def test_every_page_of_the_documentation_is_in_it(self) -> None:
        files = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "boards").glob("*/README.md")]
        self.assertGreater(len(files), 40)
        for file in files:
            name = page_of(str(file.relative_to(ROOT))) + ".html"
            self.assertIn(name, PAGES)
            # It is in the table of contents, which is on every page.
            self.assertTrue(name == "index.html" or name in PAGES["index.html"].links, name)

    def test_the_reference_has_every_function_and_rule(self) -> None:
        for file in ("bm.h", "base/status.h", "hal/hal.h"):
            declared = c_headers.parse((ROOT / "runtime_bm" / file).read_text(), file)
            places = PAGES[f"reference/c/{Path(file).stem}.html"].places
            for name in c_headers.names(declared):
                self.assertIn(f"c.{name}", places)
        rules = starlark_files.public(starlark_files.Files(ROOT).load("tools/rules/defs.bzl"))
        self.assertLess(
            {name.replace("_", "-") for name in rules}, PAGES["reference/rules.html"].places
        )
        self.assertIn("bm_model_suite", rules)
        self.assertIn("bmc.spec.ModelSpec", PAGES["reference/python/bmc.spec.html"].places)
        self.assertIn("ironcast.compile", PAGES["reference/python/ironcast.html"].places)
        help_page = (SITE / "reference/programs/bmc.html").read_text()
        self.assertIn("--float-part", help_page)

    def test_search_finds_pages_without_a_server(self) -> None:
        text = (SITE / "searchindex.js").read_text()
        index = json.loads(re.sub(r"^Search.setIndex\(|\)$", "", text))
        pages = index["terms"]["calibr"]
        self.assertIn("how-to/quantize", [index["docnames"][page] for page in pages])


if __name__ == "__main__":
    unittest.main()
