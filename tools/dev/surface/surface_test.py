"""The public surface is the committed one, and a change of any of its kinds is seen."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from tools.dev.surface import surface

_TREE = Path(os.environ["TREE"]).resolve().parent


def changed(was: str, now: str) -> list[str]:
    """Returns the lines that differ, each with a sign."""
    compared = difflib.unified_diff(was.splitlines(), now.splitlines(), lineterm="", n=0)
    return [line for line in compared if re.match(r"[-+][^-+]", line)]


class SurfaceTest(unittest.TestCase):
    def test_it_is_the_committed_one(self) -> None:
        committed = (_TREE / surface.LIST).read_text(encoding="utf-8")
        found = changed(committed, surface.surface(_TREE))
        self.assertEqual(
            found,
            [],
            "the public surface has changed: if that is meant, say it in CHANGELOG.md and run"
            " tools/bazel run //tools/dev/surface -- --update",
        )

    def test_kinds(self) -> None:
        text = surface.surface(_TREE)
        for line in (
            "runtime_bm/bm.h bm_tensor_t: uint32_t rank",
            "runtime_bm/app/service.h BM_SERVICE_PEEK = 7",
            "tools/rules/defs.bzl bm_model ram = 0",
            "bmc compile --isa",
            "report Model.state_bytes: int",
        ):
            self.assertIn(f"\n{line}\n", f"\n{text}")

    def test_a_change_is_seen(self) -> None:
        before = surface.surface(_TREE)
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            # What is not a file of Starlark or C is not read.
            for file in (*_TREE.glob("runtime_bm/**/*.h"), *_TREE.glob("*/**/*.bzl")):
                copy = tree / file.relative_to(_TREE)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
            for name, old, new in (
                ("runtime_bm/bm.h", "uint32_t rank;\n", "uint64_t rank;\n"),
                ("tools/rules/private/bm_model.bzl", "ram = 0,\n", "ram = 1,\n"),
            ):
                path = tree / name
                text = path.read_text(encoding="utf-8")
                path.write_text(text.replace(old, new, 1), encoding="utf-8")
                self.assertEqual(len(changed(before, surface.surface(tree))), 2, name)
                path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    unittest.main()
