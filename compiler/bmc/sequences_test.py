"""Made-up calls in a row make a model answer that waits for something."""

from __future__ import annotations

import unittest

import numpy as np

from bmc import sequences, spec
from bmc.artifacts import TensorInfo
from bmc.dtype import DType

_INPUTS = (TensorInfo("x", DType.I8, (2, 4)),)


def _waits(calls: tuple[spec.Case, ...]) -> tuple[spec.Case, ...]:
    """Counts how often in a row the first element was large and the last one small."""
    count, outputs = 0, []
    for (x,) in calls:
        count = count + 1 if x[0, 0] > 60 and x[0, -1] < -60 else 0
        outputs.append((np.array([count // 3], np.int8),))
    return tuple(outputs)


class SequencesTest(unittest.TestCase):
    def test_changes_that_matter_stay(self) -> None:
        plain = sequences.made_up(_INPUTS, 24, 0, _waits)
        calls = sequences.made_up(_INPUTS, 24, 100, _waits)
        self.assertEqual([[x.shape for x in call] for call in calls], [[(2, 4)]] * 24)
        self.assertEqual({x.dtype for (x,) in calls}, {np.dtype(np.int8)})
        before, after = (sum(int(y[0]) for (y,) in _waits(c)) for c in (plain, calls))
        self.assertGreater(after, before + 10)

    def test_one_model_gets_one_sequence(self) -> None:
        one, other = (sequences.made_up(_INPUTS, 9, 20, _waits) for _ in range(2))
        np.testing.assert_array_equal(one, other)


if __name__ == "__main__":
    unittest.main()
