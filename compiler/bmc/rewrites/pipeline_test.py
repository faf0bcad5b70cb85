"""Tests that the pipeline is in order."""

from __future__ import annotations

import unittest

from bmc.iree import phases
from bmc.rewrites import pipeline


class PipelineTest(unittest.TestCase):
    def test_phases_and_names_are_in_order(self) -> None:
        names = [rewrite.name for rewrite in pipeline.PIPELINE]
        self.assertEqual(len(names), len(set(names)))
        after = [phases.PHASES.index(rewrite.after) for rewrite in pipeline.PIPELINE]
        self.assertEqual(after, sorted(after))

    def test_a_rewrite_is_named_like_its_module(self) -> None:
        for rewrite in pipeline.PIPELINE:
            self.assertEqual(rewrite.apply.__module__, f"bmc.rewrites.{rewrite.name}")
            self.assertTrue(rewrite.why.endswith("."), rewrite.name)


if __name__ == "__main__":
    unittest.main()
