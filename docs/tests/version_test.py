"""The version of compiler/bmc/version.bzl is what MODULE.bazel and the changelog say."""

from __future__ import annotations

import ast
import os
import re
import unittest
from pathlib import Path

ROOT = Path(os.environ["TREE"]).resolve().parent
_MODULE = re.compile(r'^module\(\s*name = "ironcast",\s*version = "([^"]+)",\s*\)', re.MULTILINE)


def stated(module: str, changelog: str) -> tuple[str, str]:
    """Returns the versions that MODULE.bazel and the newest heading of the changelog name."""
    found = _MODULE.search(module)
    heading = re.search(r"^## (\S+?),? ", changelog, re.MULTILINE)
    return found[1] if found else "", heading[1] if heading else ""


class VersionTest(unittest.TestCase):
    def test_one_version(self) -> None:
        table = ast.parse((ROOT / "compiler/bmc/version.bzl").read_text(encoding="utf-8"))
        assert isinstance(table.body[-1], ast.Assign)
        version = ast.literal_eval(table.body[-1].value)
        module, heading = stated(
            (ROOT / "MODULE.bazel").read_text(encoding="utf-8"),
            (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        )
        self.assertEqual(module, version)
        # Before a release, the heading is about what it will be.
        self.assertEqual(heading, re.sub(r"\.dev\d+$", "", version))

    def test_what_is_not_stated(self) -> None:
        self.assertEqual(stated('module(name = "ironcast")', "# Changelog\n"), ("", ""))


if __name__ == "__main__":
    unittest.main()
