"""What is said while an image is written, and of files that somebody has to agree to."""

from __future__ import annotations

import io
import unittest
from pathlib import Path
from unittest import mock

from rich.console import Console

from tools.flash import progress, trust


class BarTest(unittest.TestCase):
    def test_how_fast_it_was(self) -> None:
        said = io.StringIO()
        times = mock.patch("time.monotonic", side_effect=(0.0, 10.0, 12.0))
        with times, progress.Bar(Console(file=said)) as bar:
            bar(4096, 4096)
        self.assertEqual(said.getvalue(), "wrote 4096 bytes in 2.0 s (2 KB/s)\n")

    def test_a_terminal_shows_what_is_done(self) -> None:
        said = io.StringIO()
        with progress.Bar(Console(file=said, force_terminal=True)) as bar:
            bar(1, 2)
        self.assertIn("writing", said.getvalue())


class CodeTest(unittest.TestCase):
    def test_some_of_many_files_are_named(self) -> None:
        folder = Path("/boards/b")
        files = tuple(folder / name for name in ("a.cfg", "b/c.cfg", "d.cfg", "e.cfg", "f.cfg"))
        for count, names in {
            1: "a.cfg",
            3: "a.cfg, b/c.cfg, d.cfg",
            5: "a.cfg, b/c.cfg, d.cfg and 2 more",
        }.items():
            self.assertEqual(str(trust.Code(folder, files[:count], "")), f"{names} in /boards/b")


if __name__ == "__main__":
    unittest.main()
