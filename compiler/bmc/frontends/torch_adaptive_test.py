"""Imports adaptive maximum pools; IREE's host runtime must agree with PyTorch."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.frontends import torch_adaptive

_MODEL = (
    support.TORCH_FUNCTIONS
    + """
F = torch.nn.functional
_X = np.random.default_rng(1).standard_normal((1, 3, 7, 10)).astype(np.float32)
_X[:, 1, 3, 4:6] = -np.inf, np.nan


def uneven():
    return _spec(
        lambda x: (F.adaptive_max_pool2d(x, (3, 4)), F.adaptive_max_pool2d(x, (1, 3))), _X
    )


def without_batch():
    return _spec(
        lambda x: (F.adaptive_max_pool2d(x[0], (2, 3)), F.adaptive_max_pool1d(x[0], 4)), _X
    )


def overlapping():
    return _spec(lambda x: F.adaptive_max_pool2d(x, (9, 14)), _X)  # more windows than elements


def one_size():
    # Their windows overlap, but are all of one size.
    return _spec(lambda x: F.adaptive_max_pool2d(x, (3, 9), return_indices=True), _X)


def even():
    return _spec(lambda x: F.adaptive_max_pool2d(x, (7, 2), return_indices=True), _X)


def places():
    return _spec(lambda x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True)[1], _X)


def many():
    return _spec(lambda x: F.adaptive_max_pool2d(x, (60, 70)), _X)
"""
)


class TorchAdaptiveTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        for factory in ("uneven", "without_batch", "overlapping", "one_size", "even"):
            with self.subTest(factory):
                self.assertIn(support.AGREES, self.load(factory).second_reference)

    def test_without_it_they_are_refused(self) -> None:
        # If this model can be imported, torch-mlir has mended what it needs.
        with mock.patch.object(torch_adaptive, "apply"):
            error = self.refuses("host-runtime", call=lambda: self.load("uneven"))
        self.assertNotIn("inputs", error.hint)

    def test_what_is_refused(self) -> None:
        for factory in ("places", "many"):
            with self.subTest(factory):
                parts = "uneven windows", "(at model.py:"
                self.refuses("op-rejected", *parts, call=lambda name=factory: self.load(name))


if __name__ == "__main__":
    unittest.main()
