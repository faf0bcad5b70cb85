"""Tests that imports inside of the package go one way, from schedules down to tables, in chains that one can follow."""

from __future__ import annotations

import ast
import graphlib
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
# Modules of the longest chain of imports: write, a schedule, its parts, the epilogue, the tree, and what refuses.
_LONGEST = 9


def imported(source: str) -> Iterator[str]:
    """Yields the modules of the package that a file imports, or the packages that it imports modules from."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(_PACKAGE):
            yield f"{node.module}."[len(_PACKAGE) :].rstrip(".")


def graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """Returns the modules that each module imports; arguments and results have names without the package's."""

    def modules(source: str) -> Iterator[str]:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(_PACKAGE):
                package = f"{node.module}."[len(_PACKAGE) :]
                yield package.rstrip(".")
                yield from (package + each.name for each in node.names)

    return {name: set(modules(source)) & sources.keys() for name, source in sources.items()}


def longest_chain(imports: dict[str, set[str]]) -> list[str]:
    """Returns the modules of a longest chain of imports; raises CycleError if a module imports itself in the end."""
    chains: dict[str, list[str]] = {}
    for name in graphlib.TopologicalSorter(imports).static_order():
        below = (chains[each] for each in imports[name])
        chains[name] = [name, *max(below, key=len, default=[])]
    return max(chains.values(), key=len)


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

    def test_chains_are_short(self) -> None:
        sources = {
            ".".join(file.relative_to(_FOLDER).with_suffix("").parts): file.read_text("utf-8")
            for file in _FOLDER.rglob("*.py")
            if not file.stem.endswith("_test")
        }
        imports = graph(sources)
        self.assertIn("tree.rvv", imports["schedule.gemm"])
        chain = longest_chain(imports)
        self.assertLessEqual(len(chain), _LONGEST, " imports ".join(chain))

    def test_a_longer_chain_and_a_circle_are_found(self) -> None:
        sources = {
            "a.b": "from bmc.kernels.a import c",
            "a.c": "from bmc.kernels.d import x",
            "d": "",
        }
        self.assertEqual(longest_chain(graph(sources)), ["a.b", "a.c", "d"])
        sources["d"] = "def f():\n    from bmc.kernels.a.b import x"
        with self.assertRaises(graphlib.CycleError):
            longest_chain(graph(sources))


if __name__ == "__main__":
    unittest.main()
