"""Tests the inputs on which models without cases are checked."""

from __future__ import annotations

import dataclasses
import unittest

import numpy as np
import support

from bmc import samples
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

    def test_firmware_carries_a_few(self) -> None:
        model = support.import_text(support.ADD, self.folder)
        for elements, carried in ((16, 4), (5000, 1), (2000, 4), (100_000, 1), (4000, 2)):
            cases = tuple((np.full(elements, i, np.float32),) for i in range(5))
            golden = dataclasses.replace(model.golden, inputs=cases, outputs=cases)
            few = samples.carry_few(dataclasses.replace(model, golden=golden))
            self.assertEqual(len(few.golden.inputs), carried, elements)
            self.assertEqual(few.golden.outputs, cases[:carried])
            self.assertEqual([c[0][0][0] for c in few.compared_only], list(range(carried, 5)))

    def test_no_random_bf16(self) -> None:
        info = TensorInfo("x", DType.BF16, (4,))
        self.refuses("unsupported-dtype", "x: 4xbf16", call=lambda: samples.case((info,)))


if __name__ == "__main__":
    unittest.main()
