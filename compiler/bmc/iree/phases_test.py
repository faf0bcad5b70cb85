"""Tests which flags depend on the model."""

from __future__ import annotations

import unittest

from bmc.artifacts import Signature, TensorInfo
from bmc.dtype import DType
from bmc.iree import phases


def signature(element: DType) -> Signature:
    return Signature("main", (TensorInfo("x", DType.F32, (4,)),), (TensorInfo("y", element, (4,)),))


class FlagsTest(unittest.TestCase):
    def test_f64_is_computed_as_f32_unless_it_is_an_input_or_output(self) -> None:
        keep = "--iree-input-demote-f64-to-f32=false"
        wide, narrow = signature(DType.F64), signature(DType.F32)
        self.assertNotIn(keep, phases.import_flags((narrow,), has_half_floats=False))
        self.assertIn(keep, phases.import_flags((narrow, wide), has_half_floats=False))

    def test_the_interpreter_evaluates_constants_unless_it_lacks_their_type(self) -> None:
        model = (signature(DType.F32),)
        evaluate, compile_ = (
            set(phases.import_flags(model, has_half_floats=half)) for half in (False, True)
        )
        self.assertEqual(evaluate - compile_, {"--iree-hal-local-host-device-backends=vmvx"})
        self.assertLess(compile_, evaluate)


if __name__ == "__main__":
    unittest.main()
