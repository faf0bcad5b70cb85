"""Tests which made-up inputs are said to enlarge roundings."""

from __future__ import annotations

import unittest

import numpy as np

from bmc import conditioning, spec
from bmc.artifacts import TensorInfo
from bmc.dtype import DType


def _spectrum(case: spec.Case) -> spec.Case:
    return (np.log(np.abs(np.fft.rfft(case[0])).astype(np.float32) + np.float32(1e-9)),)


class ConditioningTest(unittest.TestCase):
    def test_the_logarithm_of_what_cancels_out(self) -> None:
        infos = (TensorInfo("y", DType.F32, (33,)),)
        judge = conditioning.judge(_spectrum, infos, (spec.Tolerance(1e-3, 1e-3),))
        noise = np.random.default_rng(1).standard_normal(64).astype(np.float32)
        for array, wanted in ((noise, True), (np.ones(64, np.float32), False)):
            self.assertEqual(judge((array,), _spectrum((array,))), wanted)

    def test_zeros_of_an_ordinary_model(self) -> None:
        def answer(case: spec.Case) -> spec.Case:
            return (np.maximum(case[0] * np.float32(3), 0) + 1,)

        infos = (TensorInfo("y", DType.F32, (8,)),)
        judge = conditioning.judge(answer, infos, (spec.Tolerance(1e-5, 1e-4),))
        for array in (np.zeros(8, np.float32), np.full(8, -np.inf, np.float32)):
            self.assertTrue(judge((array,), answer((array,))))

    def test_what_must_be_exact_moves_with_the_inputs(self) -> None:
        infos = (TensorInfo("y", DType.F32, (3,)),)
        judge = conditioning.judge(lambda case: (case[0][::-1],), infos, (spec.Exact(),))
        array = np.array([1, 2, 3], np.float32)
        self.assertTrue(judge((array,), (array[::-1],)))

    def test_integers_do_not_move(self) -> None:
        judge = conditioning.judge(lambda case: self.fail("called"), (), ())
        self.assertTrue(judge((np.zeros(3, np.int32),), ()))


if __name__ == "__main__":
    unittest.main()
