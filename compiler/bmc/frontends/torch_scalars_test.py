"""Imports models with ops along a dimension that a tensor does not have; IREE must agree with PyTorch."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.frontends import torch_scalars

_MODEL = (
    support.TORCH_FUNCTIONS
    + """
_X = np.float32(0.75).reshape(())
_ROW = np.ones(3, np.float32)


def softmax():
    return _spec(lambda x, y: (x.softmax(0) * y, x.log_softmax(-1) + y), _X, _ROW)


def sums():
    return _spec(lambda x: (x.cumsum(0), x.cumprod(0), x.prod(0), x.sum(0), x.mean(0)), _X)


def several():
    def function(x):
        found = *x.sort(0), *x.max(0), torch.topk(x, 1, 0).values, x.argmax(0)
        return [each + 2 for each in found]

    return _spec(function, _X)


def places():
    zero = torch.tensor(0)
    return _spec(lambda x: (x.gather(0, zero), x.roll(1)), _X)


def written():
    return _spec(lambda x: x.scatter(0, torch.tensor(0), torch.tensor(5.0)) * 2, _X)


def more():
    return _spec(lambda x: (x.unsqueeze(0), x.abs(), torch.stack([x, x * 2])), _X)
"""
)


class TorchScalarsTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        for factory in ("softmax", "sums", "several", "places", "written", "more"):
            with self.subTest(factory):
                self.assertIn(support.AGREES, self.load(factory).second_reference)

    def test_without_it_they_are_refused(self) -> None:
        # softmax would never end. If one of these models can be imported, torch-mlir has mended what it needs.
        for factory in ("sums", "several"):
            with self.subTest(factory), mock.patch.object(torch_scalars, "apply"):
                self.refuses("op-rejected", call=lambda name=factory: self.load(name))


if __name__ == "__main__":
    unittest.main()
