"""The table of spreads is one of measured frameworks, and adds up over a model's ops."""

from __future__ import annotations

import json
import unittest

import numpy as np

from bmc import golden, spread, tolerances
from bmc.spec import Tolerance
from bmc.spread import Spread


class SpreadTest(unittest.TestCase):
    def test_the_table_says_what_was_measured(self) -> None:
        table = json.loads(spread.TABLE.read_text())
        self.assertEqual(sorted(table), ["keras", "onnx", "tflite", "torch"])
        for frontend, part in table.items():
            self.assertRegex(part["measured with"], r"\A[\w-]+ \d+\.\d+")
            for op, (relative, absolute) in part["ops"].items():
                # More than roundings of a few sums, and the op's kernels are wrong or compute something else.
                self.assertLessEqual(max(relative, absolute), 1e-4, f"{op} of {frontend}")

    def test_each_op_adds_its_share(self) -> None:
        one, three = spread.of("onnx", {"Conv": 1}), spread.of("onnx", {"Conv": 3, "Relu": 100})
        self.assertAlmostEqual(three.relative, 3 * one.relative)
        self.assertEqual(three.absolute, one.absolute)
        # onnxruntime's sigmoid is that far from the exact one, also where it is small.
        sigmoid = spread.of("onnx", {"Sigmoid": 2})
        self.assertGreaterEqual(sigmoid.absolute, 2.4e-7)
        self.assertEqual(spread.of("tflite", {"NO_SUCH_OP": 1}), spread.NONE)

    def test_no_tolerance_is_below_it(self) -> None:
        small = np.array([6e-6, 1e-6], np.float32)
        infos = golden.infos((small,), ("y",), "output")
        (plain,) = tolerances.default(infos, ((small,),))
        self.assertEqual(plain, Tolerance(6e-11, 1e-4))
        (near,) = tolerances.default(infos, ((small,),), Spread(1e-7, 4e-7))
        self.assertEqual(near, Tolerance(4e-7, 1e-4))
        (deep,) = tolerances.default(infos, ((small * 1e6,),), Spread(1e-3, 4e-7))
        self.assertEqual(deep, Tolerance(6e-3, 1e-3))


if __name__ == "__main__":
    unittest.main()
