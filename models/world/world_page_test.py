"""Tests that docs/world.md and docs/tflm.md are made of what was measured, and say so of each model."""

from __future__ import annotations

import json
import unittest
from pathlib import Path

import world_page

_ROW = {
    "arena_bytes": 2048,
    "date": "2026-11-28",
    "instructions": 1500,
    "macs": 1000,
    "max_abs": 0.0,
    "state_bytes": 8,
    "tflm_bytes": 4096,
    "weights_bytes": 10,
}


class WorldPageTest(unittest.TestCase):
    def test_the_pages_are_up_to_date(self) -> None:
        for begin, listed, found, name in (
            (world_page.WORLD, "table", "measured", "world"),
            (world_page.TFLM, "tflm", "tflm_measured", "tflm"),
        ):
            table, measured = (
                json.loads(Path(f"models/world/{file}.json").read_text(encoding="utf-8"))
                for file in (listed, found)
            )
            page = Path(f"docs/{name}.md").read_text(encoding="utf-8")
            hint = "`tools/bazel run //models/world:measure -- --page` writes it"
            self.assertEqual(page, world_page.text(begin, table, measured), hint)
            self.assertEqual([model for model in table if f"| `{model}` |" not in page], [])
            self.assertEqual(set(measured) - set(table), set(), "the list lacks what was measured")

    def test_rows(self) -> None:
        table = {name: {"package": "p"} for name in "abcdefg"}
        measured = {
            "a": _ROW,
            "b": {"date": "2026-11-27", "refused": "op 'X' of a|b"},
            "c": {"date": "2026-11-26", "fails": "the deadline passed"},
            "e": {
                key: _ROW[key]
                for key in ("arena_bytes", "date", "macs", "state_bytes", "weights_bytes")
            },
            "f": {**_ROW, "macs": 2_000_000, "instructions": 400_000},
            "g": {**_ROW, "macs": 2_000_000, "instructions": 300_000},
        }
        page = world_page.text(world_page.WORLD, table, measured)
        self.assertIn(
            "| `a` | p | 1,500 | 1,000 | 1.50 | 2,056 | 4,096 | 10 | 0 | 2026-11-28 |\n", page
        )
        self.assertIn("| `b` | p | refused: op 'X' of a\\|b | 2026-11-27 |\n", page)
        self.assertIn("| `c` | p | fails: the deadline passed | 2026-11-26 |\n", page)
        self.assertIn("| `d` | p | not tried yet | |\n", page)
        self.assertIn("| `e` | p | - | 1,000 | - | 2,056 | - | 10 | host | 2026-11-28 |\n", page)
        counts = "Right on Spike: 3. Right on the host, and compiled: 1. Refused: 1. Failing: 1."
        self.assertIn(f"{counts}\nNot tried yet: 1.\n", page)
        self.assertIn("Of 2 models with more than a million MACs, 1 take more than 0.15", page)


if __name__ == "__main__":
    unittest.main()
