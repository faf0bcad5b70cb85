"""Models in one image share an arena, which is as large as the largest model needs."""

from __future__ import annotations

import json
import unittest
from pathlib import Path

REPORT = Path("models/two_models/two_models_rv64.report.json")


class ArenaTest(unittest.TestCase):
    def test_arena_is_the_largest(self) -> None:
        report = json.loads(REPORT.read_text())
        arenas = {model["name"]: model["arena"]["bytes"] for model in report["models"]}
        self.assertEqual(set(arenas), {"mlp", "denoiser"})
        self.assertGreater(min(arenas.values()), 0)
        self.assertEqual(report["ram_bytes"]["arena"], max(arenas.values()))


if __name__ == "__main__":
    unittest.main()
