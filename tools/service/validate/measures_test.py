"""Measures, against numbers that are computed by hand."""

from __future__ import annotations

import math
import unittest

import numpy as np

from bmc import answers, spec
from bmc.dtype import DType
from tools.service.validate import measures, page


class MeasuresTest(unittest.TestCase):
    def test_output(self) -> None:
        want = [np.array([3.0, 4.0], np.float32), np.array([0.0, 5.0], np.float32)]
        got = [want[0], np.array([0.0, 5.5], np.float32)]
        found = measures.output("y", got, want, spec.Tolerance(0.1, 0.0))
        self.assertEqual((found.max_abs, found.misses, found.steps), (0.5, (1,), {}))
        self.assertAlmostEqual(found.rms, 0.25)
        self.assertAlmostEqual(found.snr, 10 * math.log10(50 / 0.25))
        self.assertAlmostEqual(found.cosine, 1.0)
        equal = measures.output("y", want, want, spec.Tolerance(0.0, 0.0))
        self.assertEqual((equal.snr, equal.misses), (math.inf, ()))
        nothing = measures.output("y", [want[0][:0]], [want[0][:0]], spec.Tolerance(0.0, 0.0))
        self.assertEqual((nothing.rms, nothing.snr, nothing.misses), (0.0, math.inf, ()))

    def test_values_that_are_no_numbers(self) -> None:
        want = [np.array([1.0, math.nan, math.inf])]
        policy = spec.Tolerance(1.0, 0.0)
        equal = measures.output("y", want, want, policy)
        self.assertEqual((equal.snr, equal.max_abs, equal.misses), (math.inf, 0.0, ()))
        found = measures.output("y", [np.array([math.nan, math.nan, math.inf])], want, policy)
        self.assertEqual((found.snr, found.max_abs, found.misses), (-math.inf, math.inf, (0,)))

    def test_direction(self) -> None:
        got, want = [np.array([1.0, 1.0])], [np.array([1.0, -1.0])]
        self.assertAlmostEqual(measures.output("y", got, want, spec.Exact()).cosine, 0.0)
        # The worst of several samples counts.
        found = measures.output("y", [want[0], *got], [want[0], *want], spec.Exact())
        self.assertAlmostEqual(found.cosine, 0.0)

    def test_bf16_is_no_integer(self) -> None:
        want, got = ([np.array([x, -2.0]).astype(DType.BF16.numpy)] for x in (1.0, 0.5))
        found = measures.output("y", got, want, spec.Tolerance(0.5, 0.0))
        self.assertEqual((found.max_abs, found.misses, found.steps), (0.5, (), {}))

    def test_a_nan_on_one_side_is_no_small_error(self) -> None:
        nan = np.array([math.nan, 1.0])
        self.assertEqual(answers.errors(nan, np.array([0.0, 1.0])).tolist(), [math.inf, 0.0])
        self.assertEqual(answers.errors(nan, nan).tolist(), [0.0, 0.0])
        inf = np.array([math.inf, -math.inf])
        self.assertEqual(answers.errors(inf, inf).tolist(), [0.0, 0.0])
        self.assertEqual(answers.errors(inf, -inf).tolist(), [math.inf, math.inf])

    def test_steps_of_integers(self) -> None:
        want = [np.array([-128, 127, 5], np.int8)]
        got = [np.array([127, 127, 4], np.int8)]
        found = measures.output("y", got, want, spec.IntStep(1, 3))
        self.assertEqual(found.steps, {0: 1, 1: 1, 255: 1})
        self.assertEqual(found.misses, (0,))
        self.assertEqual(page.steps(found), "y: of 3 elements, 1 equal, 1 by 1, 1 by 255")

    def test_steps_of_quantized_floats(self) -> None:
        want = [np.float32(0.37) * np.array([-3, 0, 1, 4, 5, 9], np.float32)]
        got = [want[0] + np.float32(0.37) * np.array([0, 0, 1, 0, -2, 0], np.float32)]
        policy = spec.Tolerance(1.0, 0.0)
        found = measures.output("y", got, want, policy, int8=True)
        self.assertEqual(found.steps, {0: 4, 1: 1, 2: 1})
        text = "y: of 6 elements, 4 equal, 1 by 1, 1 by 2 quantization steps of 0.37"
        self.assertEqual(page.steps(found), text)
        self.assertEqual(measures.output("y", got, want, policy).steps, {})

    def test_floats_that_are_no_multiples_of_a_step(self) -> None:
        for values in ([0.0, 1.0, 2.0], [0.0, 1.0, 2.5, 3.0, 4.7, 6.0]):
            self.assertEqual(answers.quantization_step(np.array(values, np.float32)), 0.0)

    def test_the_last_bit_of_floats_is_no_step(self) -> None:
        values = np.float32(1) + np.float32(2**-23) * np.array([0, 1, 5, 9, 40_000, 70_000])
        self.assertEqual(answers.quantization_step(values.astype(np.float32)), 0.0)

    def test_classes(self) -> None:
        want = [np.array([[0, 1, 2, 3, 4, 5, 6]]), np.array([[6, 5, 4, 3, 2, 1, 0]])]
        got = [want[0], want[0]]
        found = measures.classes(got, want, np.array([6, 1]))
        assert found is not None and found.confusion is not None
        self.assertEqual(found.agree, 0.5)
        # Class 1 is the second that the framework names, and the sixth of the target.
        self.assertEqual((found.target, found.framework), ((0.5, 0.5), (0.5, 1.0)))
        self.assertEqual((found.confusion[6, 6], found.confusion[1, 6]), (1, 1))
        self.assertEqual(found.confusion.sum(), 2)
        unknown = measures.classes(got, want, None)
        assert unknown is not None
        self.assertIsNone(unknown.target)

    def test_what_has_no_classes(self) -> None:
        for shape in ((1, 1), (), (3, 4)):
            scores = [np.zeros(shape)]
            if shape:
                self.assertIsNone(measures.classes(scores, scores, None))

    def test_errors_are_relative_to_their_output(self) -> None:
        want = [(np.array([100.0]), np.array([1.0])) for _ in range(3)]
        got = [
            (np.array([101.0]), np.array([1.0])),
            (np.array([100.0]), np.array([1.5])),
            (np.array([100.0]), np.array([1.0])),
        ]
        # An error of 0.5 in an output whose values are 1 is larger than one of 1 beside 100.
        self.assertEqual(measures.sizes(got, want), [0.01, 0.5, 0])
        self.assertEqual(measures.sizes(got[:1], want[:1]), [0.01])

    def test_many_classes_become_pairs(self) -> None:
        matrix = np.zeros((30, 30), np.int64)
        matrix[3, 8], matrix[4, 4], matrix[2, 1] = 2, 9, 1
        self.assertEqual(page.confusion(matrix), "most often confused: 3 as 8 (2), 2 as 1 (1)")


if __name__ == "__main__":
    unittest.main()
