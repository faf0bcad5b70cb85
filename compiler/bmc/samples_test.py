"""Tests the inputs on which models without cases are checked."""

from __future__ import annotations

import dataclasses
import unittest

import numpy as np
import support

from bmc import dtype, samples
from bmc.artifacts import TensorInfo
from bmc.dtype import DType

_FLOATS = TensorInfo("x", DType.F32, (4, 64))
_INDICES = TensorInfo("i", DType.I32, (9,))
_IMAGE = TensorInfo("q", DType.I8, (8, 64))


class SamplesTest(support.FolderTest):
    def test_floats_of_every_size(self) -> None:
        cases = samples.cases((_FLOATS, _INDICES))
        self.assertEqual(len(cases), samples.COUNT)
        sizes = [float(np.abs(x).max()) for x, _ in cases]
        self.assertEqual(sizes[2:4], [0.0, 1.0])
        self.assertGreater(sizes[1], 5 * sizes[0])
        self.assertLess(sizes[4], sizes[0] / 5)
        for _, indices in cases:
            self.assertLessEqual(set(indices.tolist()), {0, 1})

    def test_integers_of_the_whole_range(self) -> None:
        inputs = (_IMAGE, TensorInfo("r", DType.U8, (8, 64)))
        cases = [samples.case(inputs, index, (-5, 200)) for index in range(128)]
        again = [samples.case(inputs, index, (-5, 200)) for index in range(128)]
        np.testing.assert_array_equal([c[0] for c in cases], [c[0] for c in again])
        self.assertGreater(len({c[0].tobytes() for c in cases}), 126)
        for number, (low, high, zero) in enumerate(((-128, 127, -5), (0, 255, 200))):
            arrays = [c[number] for c in cases]
            self.assertEqual(len(np.unique(arrays[1])), 256)
            same = {int(a.flat[0]) for a in arrays if a.min() == a.max()}
            self.assertGreaterEqual(same, {low, high, zero, zero - 1, zero + 1})
            self.assertTrue(any(set(np.unique(a)) == {low, high} for a in arrays))
            near = [a for a in arrays if np.abs(a.astype(int) - zero).max() < 12]
            self.assertGreater(len(near), 8)

    def test_cases_that_make_no_sense_are_left_out(self) -> None:
        first = np.array([1.0, np.nan, -2.0], np.float32)
        outputs = [first, first * 10, np.zeros(3, np.float32), first * np.float32(1e6)]
        outputs[1][1] = 0.0
        with_infinity = np.array([1.0, np.inf, 1.0], np.float32)
        outputs.append(with_infinity)
        given = tuple((np.array([i]),) for i in range(5))
        inputs, kept = samples.sensible(given, tuple((o,) for o in outputs))
        self.assertEqual([int(case[0][0]) for case in inputs], [0, 1, 2])
        np.testing.assert_array_equal(kept[1][0], outputs[1])

    def test_calls_in_a_row_end_with_the_first_that_makes_no_sense(self) -> None:
        given = tuple((np.array([i]),) for i in range(4))
        outputs = tuple((np.array([size], np.float32),) for size in (1.0, 2.0, np.inf, 1.0))
        inputs, _ = samples.sensible(given, outputs, in_a_row=True)
        self.assertEqual([int(case[0][0]) for case in inputs], [0, 1])

    def test_kinds_beside_the_users_case(self) -> None:
        inputs = (_FLOATS, _INDICES, TensorInfo("k", DType.I64, (40,)))
        first = (np.ones((4, 64), np.float32), np.zeros(9, np.int32), np.ones(40, np.int64))
        made = dict(samples.beside(first, inputs, (), samples.Uses({1: 7})))
        self.assertEqual(
            [case[0].tobytes() for case in made.values()],
            [
                case[0].tobytes()
                for _, case in samples.beside(first, inputs, (), samples.Uses({1: 7}))
            ],
        )
        for kind, low, high in (("from the front", 0, 6), ("from the end", -7, 6)):
            floats, indices, numbers = made[f"indices that count {kind}"]
            self.assertEqual((indices.min(), indices.max()), (low, high))
            self.assertIs(floats, first[0])
            self.assertIs(numbers, first[2])
        _, indices, _ = made["indices outside of what they index"]
        self.assertTrue(indices.min() < -7 and indices.max() > 7)
        limits = np.iinfo(np.int64)
        _, _, numbers = made["integers of the whole type"]
        self.assertEqual((numbers.min(), numbers.max()), (limits.min, limits.max))
        self.assertTrue((made["small integers but 0"][2] != 0).all())
        self.assertLess(len(np.unique(made["small integers"][2])), 8)
        floats, _, _ = made["floats with NaN and infinities"]
        self.assertTrue(np.isnan(floats).any() and np.isinf(floats).any())
        floats, _, _ = made["floats with equal elements and zeros"]
        self.assertEqual(set(np.signbit(floats[floats == 0])), {False, True})

    def test_truth_values_are_no_indices(self) -> None:
        inputs = (TensorInfo("m", DType.BOOL, (9,)), _INDICES)
        first = (np.ones(9, bool), np.zeros(9, np.int32))
        made = samples.beside(first, inputs, (), samples.Uses({0: 7, 1: 7}))
        self.assertTrue(any("indices" in kind for kind, _ in made))
        for _, (truths, _) in made:
            self.assertIs(truths, first[0])

    def test_what_a_framework_leaves_open_is_not_made_up(self) -> None:
        inputs = (_FLOATS, _INDICES, TensorInfo("k", DType.I64, (40,)))
        first = (np.ones((4, 64), np.float32), np.zeros(9, np.int32), np.ones(40, np.int64))
        without_signs = dict(samples.beside(first, inputs, (), samples.Uses({1: 7}, signs=False)))
        for case in without_signs.values():
            self.assertFalse(np.signbit(case[0][case[0] == 0]).any())
        uses = samples.Uses({1: 7}, equal=False, zeros=False, outside=False)
        made = dict(samples.beside(first, inputs, ((-3, 3), None, None), uses))
        self.assertNotIn("indices outside of what they index", made)
        self.assertNotIn("small integers", made)
        numbers = made["integers of the whole type but 0"][2]
        self.assertFalse(np.isin(numbers, (0, -1)).any())
        for case in made.values():
            self.assertLessEqual(np.abs(case[0]).max(), 3)
        only = samples.Uses({}, floats=False, integers=False)
        self.assertEqual(samples.beside(first, inputs, (), only), ())

    def test_firmware_carries_a_few(self) -> None:
        model = support.import_text(support.ADD, self.folder)
        for elements, carried in ((16, 4), (5000, 1), (2000, 4), (100_000, 1), (4000, 2)):
            cases = tuple((np.full(elements, i, np.float32),) for i in range(5))
            golden = dataclasses.replace(model.golden, inputs=cases, outputs=cases)
            few = samples.carry_few(dataclasses.replace(model, golden=golden))
            self.assertEqual(len(few.golden.inputs), carried, elements)
            self.assertEqual(few.golden.outputs, cases[:carried])
            self.assertEqual([c[0][0][0] for c in few.compared_only], list(range(carried, 5)))

    def test_random_bf16(self) -> None:
        info = TensorInfo("x", DType.BF16, (400,))
        ((x,), (large,)) = (samples.case((info,), index) for index in (0, 1))
        self.assertIs(dtype.from_numpy(x), DType.BF16)
        self.assertAlmostEqual(float(np.std(x.astype(np.float32))), 1.0, delta=0.2)
        self.assertAlmostEqual(float(np.std(large.astype(np.float32))), 10.0, delta=2.0)
        kinds = [kind for kind, _ in samples.beside((x,), (info,), (), samples.Uses({}))]
        self.assertIn("floats with NaN and infinities", kinds)


if __name__ == "__main__":
    unittest.main()
