"""ARCHITECTURE.md shows the pipeline that is declared."""

from __future__ import annotations

import os
import unittest
from pathlib import Path

from bmc.rewrites import pipeline, runner

ROOT = Path(os.environ["TREE"]).resolve().parent


class PipelineTest(unittest.TestCase):
    def test_the_table_is_what_print_pipeline_prints(self) -> None:
        page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
        self.assertIn("\n\n" + runner.describe(pipeline.PIPELINE) + "\n", page)
        self.assertNotIn(runner.describe(pipeline.PIPELINE[1:]), page)


if __name__ == "__main__":
    unittest.main()
