"""Tests that imports inside of the package go one way: from schedules down to tables."""

from __future__ import annotations

import ast
import unittest
from collections.abc import Iterator
from pathlib import Path

_FOLDER = Path(__file__).parent
_PACKAGE = "bmc.kernels."
# Each folder may import from itself and from these.
_BELOW = {
    "": set(),
    "problem": {""},
    "tree": {"", "problem"},
    "padding": {"", "problem", "tree"},
    "epilogue": {"", "problem", "tree"},
    "schedule": {"", "problem", "tree", "padding", "epilogue"},
    "read": {"", "problem"},
}


def imported(source: str) -> Iterator[str]:
    """Yields the modules of the package that a file imports, or the packages that it imports modules from."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(_PACKAGE):
            yield f"{node.module}."[len(_PACKAGE) :].rstrip(".")


def wrong(folder: str, source: str) -> list[str]:
    """Returns the imports of a file in a folder that its layer may not have."""
    folders = (name.partition(".")[0] for name in imported(source))
    found = (name if name in _BELOW else "" for name in folders)
    return [name for name in found if name != folder and name not in _BELOW[folder]]


class LayersTest(unittest.TestCase):
    def test_imports_go_down(self) -> None:
        files = [file for file in _FOLDER.rglob("*.py") if not file.stem.endswith("_test")]
        self.assertGreater(len(files), 40)
        for file in files:
            parent = file.parent.relative_to(_FOLDER).as_posix()
            with self.subTest(file=file.name, parent=parent):
                source = file.read_text(encoding="utf-8")
                self.assertEqual(wrong("" if parent == "." else parent, source), [])

    def test_an_import_that_goes_up_is_found(self) -> None:
        up = "from bmc.kernels.schedule import gemm"
        for folder in _BELOW.keys() - {"schedule"}:
            self.assertEqual(wrong(folder, up), ["schedule"])
        self.assertEqual(wrong("schedule", up), [])
        self.assertEqual(
            wrong("tree", "def f():\n    from bmc.kernels.read.body import x"), ["read"]
        )


if __name__ == "__main__":
    unittest.main()
