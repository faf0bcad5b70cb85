"""Tests that docs/how-to/check.md shows what `bmc check` says of two published models."""

from __future__ import annotations

import contextlib
import io
import os
import textwrap
import unittest
from pathlib import Path

from bmc import cli


class CheckPageTest(unittest.TestCase):
    def test_the_page_shows_what_the_program_prints(self) -> None:
        page = Path(os.environ["PAGE"]).read_text(encoding="utf-8")
        for name in ("RUNS", "PINNED"):
            file = Path(os.environ[name])
            with self.subTest(file=file.name):
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    self.assertEqual(cli.main(["check", str(file)]), 0)
                shown = textwrap.indent(out.getvalue(), "    ")
                self.assertIn(f"    bmc check {file.name}\n\n{shown}", page)


if __name__ == "__main__":
    unittest.main()
