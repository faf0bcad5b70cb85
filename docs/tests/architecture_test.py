"""ARCHITECTURE.md shows the pipeline that is declared, and the folders that exist."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path

from bmc.rewrites import pipeline, runner

ROOT = Path(os.environ["TREE"]).resolve().parent
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

# So many lines fit on a screen.
_SCREEN = 50
# The map names all rooms of these; of boards, those that are no board, which has a README.
_WITH_ROOMS = ("compiler/bmc", "runtime_bm", "boards", "tools", "third_party")
# A folder that holds nothing but old labels is no room.
_MOVED = re.compile(r"deprecation = |\bmoved\.bzl")


def map_of(page: str) -> list[str]:
    """Returns the lines of the map."""
    section = page.partition("\n## Where things are\n")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")]


def named(lines: list[str]) -> set[str]:
    """Returns the folders in the first column of the map."""
    found = set()
    for line in lines:
        beside = ""
        for name in re.findall(r"`([^`]+)/`", line.split("|")[1]):
            path = name if "/" in name or not beside else f"{beside}/{name}"
            beside = path.rpartition("/")[0]
            found.add(path)
    return found


def rooms(tree: Path) -> set[str]:
    """Returns the folders that the map must name."""
    found = set()
    for parent in _WITH_ROOMS:
        for folder in (tree / parent).iterdir():
            built = [build.read_text(encoding="utf-8") for build in folder.rglob("BUILD.bazel")]
            is_board = parent == "boards" and (folder / "README.md").exists()
            if not is_board and any(not _MOVED.search(text) for text in built):
                found.add(f"{parent}/{folder.name}")
    return found


def faults(lines: list[str], tree: Path) -> list[str]:
    """Returns what is wrong with the map."""
    folders = named(lines)
    gone = [one for one in folders if "<" not in one and not (tree / one).is_dir()]
    found = [f"there is no {one}" for one in sorted(gone)]
    found += [f"{one} is missing" for one in sorted(rooms(tree) - folders)]
    if len(lines) > _SCREEN:
        found.append(f"{len(lines)} lines do not fit on a screen")
    return found


class PipelineTest(unittest.TestCase):
    def test_the_table_is_what_print_pipeline_prints(self) -> None:
        self.assertIn("\n\n" + runner.describe(pipeline.PIPELINE) + "\n", PAGE)
        self.assertNotIn(runner.describe(pipeline.PIPELINE[1:]), PAGE)


class MapTest(unittest.TestCase):
    def test_the_map_is_that_of_the_tree(self) -> None:
        self.assertEqual(faults(map_of(PAGE), ROOT), [])

    def test_a_map_of_another_tree_is_noticed(self) -> None:
        lines = map_of(PAGE)
        for old, new, fault in (
            ("| `tools/flash/` ", "| flash ", "tools/flash is missing"),
            ("`compiler/bmc/iree/`, `ir/`", "`compiler/bmc/iree/`", "compiler/bmc/ir is missing"),
            ("`boards/common/`, `tests/`", "`boards/tests/`", "boards/common is missing"),
            ("| `kernels/` ", "| `kernels/gone/` ", "there is no kernels/gone"),
        ):
            changed = "\n".join(lines).replace(old, new)
            self.assertEqual(faults(changed.splitlines(), ROOT), [fault])
        longer = [*lines, *["| | more |"] * _SCREEN]
        self.assertEqual(faults(longer, ROOT), [f"{len(longer)} lines do not fit on a screen"])


if __name__ == "__main__":
    unittest.main()
