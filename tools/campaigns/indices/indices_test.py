"""The campaign's short form, and that it notices what it looks for."""

from __future__ import annotations

import tempfile
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

import campaign
import indices
import numpy as np

_FEW = campaign.Budget(seed=1, first=0, count=20)


class IndicesTest(unittest.TestCase):
    def test_a_few_are_right(self) -> None:
        found = Counter(result.outcome for result in indices.results(_FEW))
        self.assertEqual(found, {"right": 20})

    def test_a_wrong_one_is_found(self) -> None:
        model = mock.Mock(run=lambda case, entry: (np.zeros(1, np.float32),))
        (first, *_) = indices.inside(model, _FEW)
        self.assertEqual(first.outcome, "wrong")
        self.assertIn("gather_rows at", first.find or "")

    def test_the_sanitizer_stops_what_reads_outside(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            # A program of its own, in which the rewrite that keeps indices inside does nothing.
            program = Path(folder) / "without.py"
            program.write_text(
                "import sys, indices\nfrom bmc.rewrites import indices as rewrite\n"
                "rewrite.apply = lambda module: None\nsys.exit(indices.main(sys.argv[1:]))\n"
            )
            (result,) = indices.results(campaign.Budget(seed=1, first=0, count=1), str(program))
        self.assertEqual(result.outcome, "stopped")


if __name__ == "__main__":
    unittest.main()
