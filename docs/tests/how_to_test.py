"""The code on the pages about applications is that of the examples, which are built and run."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path

ROOT = Path(os.environ["TREE"]).resolve().parent
PAGES = [
    ROOT / "docs/how-to" / name
    for name in (
        "accelerator-in-gates.md",
        "demo.md",
        "feed-a-sensor.md",
        "own-kernels.md",
        "own-main.md",
        "without-bazel.md",
    )
]
# Where the files that blocks name are.
EXAMPLES = tuple(
    ROOT / folder
    for folder in ("runtime_bm/examples", "examples/consumer", "examples", "models", ".")
)
# A block says which file it shows, or, as `text`, which run (docs_test.py).
BLOCK = re.compile(r"^```(\w*) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Returns language, file and text of each fenced block."""
    return BLOCK.findall(page)


def strange(page: str) -> list[str]:
    """Returns the blocks that are not, word for word, in the file they name."""
    return [
        text
        for language, name, text in blocks(page)
        if language != "text" and f"\n{text}" not in f"\n{_example(name)}"
    ]


def _example(name: str) -> str:
    return next(folder / name for folder in EXAMPLES if (folder / name).is_file()).read_text()


class HowToTest(unittest.TestCase):
    def test_every_block_is_in_the_file_that_it_names(self) -> None:
        for path in PAGES:
            page = path.read_text()
            self.assertGreaterEqual(len(blocks(page)), 3, path.name)
            self.assertEqual(strange(page), [], path.name)

    def test_so_is_the_board_in_the_guide_to_add_one(self) -> None:
        page = (ROOT / "boards/README.md").read_text()
        self.assertEqual(len(blocks(page)), 1)
        self.assertEqual(strange(page), [])
        self.assertEqual(len(strange(page.replace("64 << 10", "64 << 20"))), 1)

    def test_a_changed_word_is_noticed(self) -> None:
        page = (ROOT / "docs/how-to/own-main.md").read_text()
        self.assertEqual(len(strange(page.replace("BM_TRY(bm_model_run", "BM_TRY(bm_run"))), 1)
        self.assertEqual(len(strange(page.replace("cc_library(", "cc_binary("))), 1)

    def test_the_status_word_shown_is_that_of_the_line(self) -> None:
        source = _example("own_main/main.c").splitlines()
        line = next(i for i, text in enumerate(source, 1) if "BM_CHECK(entry" in text)
        page = (ROOT / "docs/how-to/own-main.md").read_text()
        self.assertEqual(page.count(f"{255 << 24 | line << 12 | 5:08x}"), 2)
        self.assertIn(f"at the application:{line}\n", page)


if __name__ == "__main__":
    unittest.main()
