"""How close is close enough: a policy from the model file to the firmware's tables."""

from __future__ import annotations

import dataclasses
import unittest

import numpy as np
import support

from bmc import artifacts, golden, reference
from bmc.dtype import Array
from bmc.emit import golden_c
from bmc.spec import Exact, IntStep, Policy, Tolerance

WANT = np.array([-128, 0, 127, 5], np.int8)
NEAR = np.array([-127, 0, 126, 5], np.int8)


class CompareTest(unittest.TestCase):
    def test_step_limits_how_far_and_how_many(self) -> None:
        far = np.array([-128, 2, 127, 5], np.int8)
        for got, policy, ok in (
            (WANT, IntStep(0, 0), True),
            (NEAR, IntStep(1, 2), True),
            (NEAR, IntStep(1, 1), False),
            (NEAR, IntStep(0, 4), False),
            (far, IntStep(1, 4), False),
            (far, IntStep(2, 1), True),
        ):
            self.assertEqual(reference.compare(got, WANT, policy).ok, ok, (got, policy))

    def test_what_differs_is_counted(self) -> None:
        self.assertEqual(reference.compare(NEAR, WANT, IntStep(1, 2)).differing, 2)
        self.assertEqual(reference.compare(NEAR, WANT, Exact()).differing, 2)
        nan = np.array([np.nan, np.nan, 1.0], np.float32)
        other = np.array([np.nan, 0.0, 1.5], np.float32)
        self.assertEqual(reference.compare(nan, other, Tolerance(1.0, 0.0)).differing, 2)


class SpecTest(support.FolderTest):
    def make(self, policy: Policy, output: Array) -> artifacts.Golden:
        case = (np.zeros(1, np.float32),)
        return golden.make(
            inputs=(case,),
            outputs=((output,),),
            input_infos=golden.infos(case, (), "input"),
            output_infos=golden.infos((output,), (), "output"),
            tolerance=policy,
            labels=None,
            source=artifacts.GOLDEN_FRAMEWORK,
        )

    def test_policies_survive_the_import_directory(self) -> None:
        model = support.import_text(support.ADD, self.folder)
        for policy in (IntStep(1, 7), Exact(), Tolerance(1e-3, 1e-4, 0.5)):
            data = dataclasses.replace(model.golden, policies=(policy,))
            artifacts.save(dataclasses.replace(model, golden=data), self.folder)
            self.assertEqual(artifacts.load(self.folder).golden.policies, (policy,))

    def test_step_of_a_float_output_or_of_no_32_bits_is_refused(self) -> None:
        self.make(IntStep(2**32 - 1, 0), WANT)
        for policy, output, part in (
            (IntStep(1, 1), np.zeros(2, np.float32), "IntStep is given for output output0: 2xf32"),
            (IntStep(2**32, 1), WANT, "max_step=4294967296"),
            (IntStep(1, -1), WANT, "max_differing=-1"),
        ):
            self.refuses("bad-spec", part, call=lambda p=policy, o=output: self.make(p, o))

    def test_firmware_gets_both_numbers(self) -> None:
        self.assertEqual(
            golden_c._policy(IntStep(1, 7)),
            "{.policy = 2, .max_step = 1u, .max_differing = 7u}",
        )


if __name__ == "__main__":
    unittest.main()
