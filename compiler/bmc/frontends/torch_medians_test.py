"""Imports medians and k-th smallest elements; IREE's host runtime must agree with PyTorch."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.frontends import torch_medians

_MODEL = (
    support.TORCH_FUNCTIONS
    + """
# No two elements of a row are equal: PyTorch leaves open which one of equal elements it takes.
_X = np.random.default_rng(0).permutation(24).reshape(4, 6).astype(np.float32)
_NAN = _X.copy()
_NAN[1, 3] = _NAN[1, 5] = np.nan
_BYTES = np.random.default_rng(1).integers(0, 256, (4, 6), np.uint8)


def medians():
    def function(x, b):
        rows, bytes_ = x.median(1, True).values, b.median(-1).values
        return x.median(), rows, x[0, 0].median(), b.median(), bytes_

    return _spec(function, _NAN, _BYTES)


def places():
    return _spec(lambda x: x.median(1), _NAN)


def smallest():
    def function(x, b):
        return x.kthvalue(2).values, x.kthvalue(4, 0, True).values, b.kthvalue(3).values

    return _spec(function, _NAN, _BYTES)
"""
)
_FACTORIES = ("medians", "places", "smallest")


class TorchMediansTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        for factory in _FACTORIES:
            with self.subTest(factory):
                self.assertIn(support.AGREES, self.load(factory).second_reference)

    def test_without_it_they_are_refused(self) -> None:
        # If one of these models can be imported, torch-mlir has learnt what the model needs.
        for factory in _FACTORIES:
            with self.subTest(factory), mock.patch.object(torch_medians, "apply"):
                self.refuses("op-rejected", call=lambda name=factory: self.load(name))


if __name__ == "__main__":
    unittest.main()
