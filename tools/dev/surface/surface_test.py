"""The public surface is the committed one, and a change of any of its kinds is seen."""

from __future__ import annotations

import difflib
import os
import re
import unittest
from pathlib import Path

from tools.dev.surface import surface

_TREE = Path(os.environ["TREE"]).resolve().parent


def changed(was: list[str], now: list[str]) -> list[str]:
    """Returns the lines that differ, each with a sign."""
    compared = difflib.unified_diff(was, now, lineterm="", n=0)
    return [line for line in compared if re.match(r"[-+][^-+]", line)]


class SurfaceTest(unittest.TestCase):
    def test_it_is_the_committed_one(self) -> None:
        committed = (_TREE / surface.LIST).read_text(encoding="utf-8")
        found = changed(committed.splitlines(), surface.surface(_TREE).splitlines())
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
        header = "// About it.\ntypedef struct t_t {\n  uint32_t rank;  // axes\n} t_t;\n"
        wider = header.replace("uint32_t rank", "uint64_t rank")
        found, now = (surface.of_header(text, "t.h") for text in (header, wider))
        self.assertEqual(changed(found, now), ["-t_t: uint32_t rank", "+t_t: uint64_t rank"])
        # A comment is no change.
        self.assertEqual(surface.of_header(header.replace("axes", "its axes"), "t.h"), found)

        def macro(*, name: str, ram: int = 0) -> None: ...

        def other(*, name: str, ram: int = 1) -> None: ...

        before, after = (surface.of_starlark(each) for each in (macro, other))
        self.assertEqual(len(changed(before, after)), 2)


if __name__ == "__main__":
    unittest.main()
