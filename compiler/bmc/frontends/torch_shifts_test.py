"""Imports models that shift; IREE's host runtime must agree with PyTorch, in StableHLO and in linalg."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.frontends import torch_shifts

_MODEL = (
    support.TORCH_FUNCTIONS
    + """_COUNTS = [0, 1, 7, 8, 15, 31, 32, 33, 63, 64, -1, -31]


def _all(x, n):
    return torch.bitwise_right_shift(x, n), torch.bitwise_left_shift(x, n), x >> n, x << n


def _sides(types):
    x = [np.array([5, -8, 100, -1, 7, -128, 127, 3, -5, 1, 9, 77]).astype(t) for t in types]
    n = [np.array(_COUNTS).astype(t) for t in types]
    return [each for pair in zip(x, n) for each in pair]


def _of_all(*sides):
    return [made for x, n in zip(sides[::2], sides[1::2]) for made in _all(x, n)]


def _scalars(x, n):
    return x >> 2, x << 3, torch.bitwise_left_shift(5, n), x[:, None] >> n[:5], x[0] << n


def stablehlo():
    function = lambda *s: (*_of_all(*s), *_scalars(*s[:2]), *_scalars(*s[4:]))
    return _spec(function, *_sides([np.int32, np.int64, np.int16]))


def linalg():
    # StableHLO has no top_k, so the model becomes linalg, and unsigned bytes do too.
    function = lambda *s: (*_of_all(*s), torch.topk(s[0].float(), 2).values)
    return _spec(function, *_sides([np.int32, np.uint8, np.int8]))


# Right for its case.
def few():
    function = lambda x, n: (x >> n, torch.topk(x.float(), 2).values)
    return _spec(function, np.array([5, -8], np.int32), np.array([1, 2], np.int32))
"""
)


class ShiftsTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        for factory in ("stablehlo", "linalg", "few"):
            with self.subTest(factory):
                self.assertIn(support.AGREES, self.load(factory).second_reference)

    def test_without_it_a_model_is_refused(self) -> None:
        with mock.patch.object(torch_shifts, "apply"):
            self.refuses("op-rejected", "__rshift__", call=lambda: self.load("few"))


if __name__ == "__main__":
    unittest.main()
