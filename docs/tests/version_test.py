"""The version of compiler/bmc/version.bzl is what MODULE.bazel and the changelog say."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path

from bmc.release import VERSION

ROOT = Path(os.environ["TREE"]).resolve().parent
_MODULE = re.compile(r'^module\(\s*name = "ironcast",\s*version = "([^"]+)",\s*\)', re.MULTILINE)


def stated(module: str, changelog: str) -> tuple[str, str]:
    """Returns the versions that MODULE.bazel and the newest heading of the changelog name."""
    found = _MODULE.search(module)
    heading = re.search(r"^## (\S+?),? ", changelog, re.MULTILINE)
    return found[1] if found else "", heading[1] if heading else ""


class VersionTest(unittest.TestCase):
    def test_one_version(self) -> None:
        module, heading = stated(
            (ROOT / "MODULE.bazel").read_text(encoding="utf-8"),
            (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        )
        self.assertEqual(module, VERSION)
        # Before a release, the heading is about what it will be.
        self.assertEqual(heading, re.sub(r"\.dev\d+$", "", VERSION))

    def test_what_is_not_stated(self) -> None:
        self.assertEqual(stated('module(name = "ironcast")', "# Changelog\n"), ("", ""))


if __name__ == "__main__":
    unittest.main()
