"""Tests which tolerances fit which outputs."""

from __future__ import annotations

import unittest

import numpy as np
import support

from bmc import artifacts, golden
from bmc.dtype import Array
from bmc.spec import IntStep, Policy, Tolerance


class PolicyTest(support.FolderTest):
    def make(self, policy: Policy, output: Array, labels: Array | None = None) -> artifacts.Golden:
        case = (np.zeros(1, np.float32),)
        return golden.make(
            inputs=(case,),
            outputs=((output,),),
            input_infos=golden.infos(case, (), "input"),
            output_infos=golden.infos((output,), (), "output"),
            tolerance=policy,
            labels=labels,
            source=artifacts.GOLDEN_FRAMEWORK,
        )

    def test_step_of_a_float_output_or_of_no_32_bits_is_refused(self) -> None:
        integers = np.zeros(2, np.int8)
        self.make(IntStep(2**32 - 1, 0), integers)
        for policy, output, part in (
            (IntStep(1, 1), np.zeros(2, np.float32), "IntStep is given for output output0: 2xf32"),
            (IntStep(2**32, 1), integers, "max_step=4294967296"),
            (IntStep(1, -1), integers, "max_differing=-1"),
        ):
            self.refuses("bad-spec", part, call=lambda p=policy, o=output: self.make(p, o))

    def test_labels_are_for_scores(self) -> None:
        scores, label = np.zeros((1, 0), np.float32), np.zeros(1, np.int64)
        self.make(Tolerance(0, 0), scores)
        part = "output0: 1x0xf32 has no elements"
        self.refuses("bad-spec", part, call=lambda: self.make(Tolerance(0, 0), scores, label))


if __name__ == "__main__":
    unittest.main()
