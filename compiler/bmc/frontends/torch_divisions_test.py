"""Imports models that divide; IREE's host runtime must agree with PyTorch on the user's cases and on made-up ones."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.frontends import torch_divisions

_MODEL = (
    support.TORCH_FUNCTIONS
    + """_MOST = 2**63 - 1


def _all(x, y):
    return x // y, x // 3, x % y, x % -5, torch.div(x, y, rounding_mode="floor"), x.remainder(7)


def floats():
    x, y = np.array([7, -7, 0.5, -0.0], np.float32), np.array([3, 3, -2, 5], np.float32)
    return _spec(lambda x, y: (x % y, x % -2.5, x.remainder(2)), x, y)


def integers():
    x, y = np.array([-7, 7, -1, 2147483647], np.int32), np.array([3, -3, 5, 5], np.int32)
    return _spec(_all, x, y)


def longs():
    return _spec(_all, np.array([-7, _MOST, -1, 5]), np.array([3, -3, 5, 5]))


def linalg():
    # StableHLO has no top_k, so the model becomes linalg.
    also = lambda x, y: (*_all(x, y), torch.topk(x.float(), 2).values)
    return _spec(also, np.array([-7, 7, -_MOST - 1, _MOST]), np.array([3, -3, -1, 5]))


def bytes_():
    # By tensors and by numbers, in linalg.
    x, y = np.array([-128, 127, -7, 9], np.int8), np.array([-1, 3, 5, -4], np.int8)
    u, v = (x.view(np.uint8) for x in (x, y))
    function = lambda x, y: (*_all(x, y)[:3], torch.fmod(x, 7))
    also = lambda x, y, u, v: (*function(x, y), *function(u, v), torch.topk(x.float(), 2).values)
    return _spec(also, x, y, u, v)


_TENTHS = np.array([1, 0.5, 6, -1, 3, 1e10, 65504, 5, -5, -1e10, 7, 0, -7.5], np.float32)
_PARTS = np.array([0.1, 0.1, 0.2, np.inf, -np.inf, 3, 6e-3, np.inf, np.inf, 0.37, 0, 0, 2], np.float32)


def rests():
    return _spec(lambda x, y: (torch.fmod(x, y), torch.fmod(x, 0.1), x % y), _TENTHS, _PARTS)


def floors():
    return _spec(
        lambda x, y: (x // y, x // 0.1, torch.div(x, y, rounding_mode="floor"), x // -0.3), _TENTHS, _PARTS
    )


def numbers():
    # A number is divided, or floats and integers meet.
    x, y = np.array([7, -7, 0.5, -0.3], np.float32), np.array([3, -3, 200, -2], np.int32)
    u = np.array([3, 200, 255, 7], np.uint8)
    return _spec(
        lambda x, y, u: (
            3 // x, 7.5 // y, y // 2.5, 100 // y, 3 % x, 7.5 % y, 100 % y, torch.fmod(y, 2.5), 200 // u, 200 % u,
            300 // u, u % 300, torch.fmod(u, -3), torch.fmod(u > 7, 3),
        ), x, y, u,
    )


# These two are right for their cases.
def remainder():
    return _spec(lambda x: x % 3, np.array([7, 4, 2], np.int32))


def quotient():
    return _spec(lambda x: x // 3, np.array([7, -4, 2], np.int32))
"""
)


class DivisionsTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        for factory in (
            "floats",
            "integers",
            "longs",
            "linalg",
            "bytes_",
            "rests",
            "floors",
            "numbers",
        ):
            with self.subTest(factory):
                self.assertIn(support.AGREES, self.load(factory).second_reference)

    def test_without_it_made_up_inputs_refuse_the_model(self) -> None:
        for factory in ("remainder", "quotient"):
            with self.subTest(factory), mock.patch.object(torch_divisions, "apply"):
                call = lambda name=factory: self.load(name)  # noqa: E731
                self.refuses("import-disagrees", "made-up ", call=call)


if __name__ == "__main__":
    unittest.main()
