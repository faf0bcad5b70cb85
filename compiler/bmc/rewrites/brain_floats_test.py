"""Imports models that compute in bf16; IREE must agree with PyTorch."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.rewrites import brain_floats

_MODEL = (
    support.TORCH_FUNCTIONS
    + """
_X = np.linspace(-200, 200, 41, dtype=np.float32)


def integers():
    # 190 * 3 is 570, of which bf16 has 568.
    return _spec(lambda x: (x.bfloat16() * 3).to(torch.int32), _X)


# Of 180.47 and 228.6, it has 180 and 229.
def floors():
    return _spec(lambda x: (x.bfloat16() * 1.203125).floor().float(), _X)


def ceilings():
    return _spec(lambda x: (x.bfloat16() * 1.203125).ceil().float(), _X)


def floats():
    return _spec(lambda x: (x.bfloat16() * 1.203125).float() + 1, _X)


def comparisons():
    return _spec(lambda x: x.bfloat16() * 1.203125 > 180, _X)
"""
)


class BrainFloatsTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        for factory in ("integers", "floors", "ceilings", "floats", "comparisons"):
            with self.subTest(factory):
                self.assertIn(support.AGREES, self.load(factory).second_reference)

    def test_without_it_they_are_refused(self) -> None:
        # If one of these models can be imported, IREE rounds.
        for factory in ("integers", "floors", "ceilings", "floats", "comparisons"):
            with self.subTest(factory), mock.patch.object(brain_floats, "apply"):
                self.refuses("import-disagrees", call=lambda name=factory: self.load(name))


if __name__ == "__main__":
    unittest.main()
