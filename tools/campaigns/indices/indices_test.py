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
    def test_a_few_are_right_and_a_wrong_one_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            model = indices.host(Path(folder))
        found = Counter(result.outcome for result in indices.results(model, _FEW))
        self.assertEqual(found, {"right": 20})
        with mock.patch.object(model, "run", return_value=(np.zeros(1, np.float32),)):
            (first, *_) = indices.results(model, _FEW)
        self.assertEqual(first.outcome, "wrong")
        self.assertIn("gather_rows at", first.find or "")


if __name__ == "__main__":
    unittest.main()
