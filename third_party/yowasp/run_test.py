"""Tests that a program of YoWASP's runs, and what is seen if it fails."""

from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from third_party.yowasp import run


class RunTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def pack(self, name: str) -> tuple[int, str]:
        """Packs an empty design; returns the status and what went to stderr."""
        (self.folder / "in").mkdir()
        (self.folder / "in/placed.config").write_text(".device LFE5U-12F\n")
        args = ["--program", "ecppack", "--input", str(self.folder / "in")]
        args += ["--output", str(self.folder / "placed.svf"), "--log", str(self.folder / "log")]
        args += ["--", name, "--svf", "placed.svf", "placed.bit"]
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            return run.main(args), stderr.getvalue()

    def test_a_bitstream_is_for_its_part(self) -> None:
        self.assertEqual(self.pack("placed.config"), (0, ""))
        # A probe sees this identity first. That of an LFE5U-25F begins with 4.
        self.assertIn("TDO  (21111043)", (self.folder / "placed.svf").read_text())

    def test_a_failure_is_shown(self) -> None:
        status, said = self.pack("other.config")
        self.assertEqual(status, 1)
        self.assertRegex(said, r"Failed to open input file\n.*\n?ecppack failed.\n$")


if __name__ == "__main__":
    unittest.main()
