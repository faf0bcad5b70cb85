"""Tests golden data as C and as bytes."""

from __future__ import annotations

import unittest

import numpy as np

from bmc import artifacts
from bmc.emit import golden_c
from bmc.plan.tables import Plan
from bmc.spec import Exact, IntStep, Policy, Tolerance


def _golden(policy: Policy) -> artifacts.Golden:
    case = (np.arange(3, dtype=np.int8),)
    return artifacts.Golden((case,), (case,), (policy,), None, 0, artifacts.GOLDEN_FRAMEWORK)


class GoldenTest(unittest.TestCase):
    def test_policies(self) -> None:
        plan = Plan("m", 0, 0, 0, 0, (), (), ())
        for policy, text in (
            (Exact(), "{.policy = 0}"),
            (IntStep(1, 7), "{.policy = 2, .max_step = 1u, .max_differing = 7u}"),
            (
                Tolerance(0.5, 0.25, 0.99),
                "{.policy = 1, .atol = 0.5f, .rtol = 0.25f, .min_cosine = 0.99f}",
            ),
            # No cosine is below this one.
            (
                Tolerance(0.5, 0.25),
                "{.policy = 1, .atol = 0.5f, .rtol = 0.25f, .min_cosine = -2.0f}",
            ),
        ):
            self.assertIn(text, golden_c.source(plan, _golden(policy), {}))

    def test_a_plan_without_commands_has_no_types(self) -> None:
        text = golden_c.source(Plan("m", 0, 0, 0, 0, (), (), ()), _golden(Exact()), {})
        self.assertIn("    .dtypes = 0,\n", text)
        self.assertNotIn("k_dtypes", text)

    def test_every_tensor_is_padded_to_64_bytes(self) -> None:
        data = golden_c.data(_golden(Exact()))
        self.assertEqual(data, (bytes((0, 1, 2)) + bytes(61)) * 2)


if __name__ == "__main__":
    unittest.main()
