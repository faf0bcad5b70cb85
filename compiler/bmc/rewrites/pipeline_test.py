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
            package, _, module = rewrite.apply.__module__.rpartition(".")
            self.assertEqual(module, rewrite.name)
            self.assertTrue(package.startswith("bmc.rewrites."), package)
            for sentence in (rewrite.purpose, rewrite.why):
                self.assertRegex(sentence, r"^[\w-].*\.$", rewrite.name)


if __name__ == "__main__":
    unittest.main()
