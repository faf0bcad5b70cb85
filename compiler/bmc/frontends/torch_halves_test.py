"""Imports reductions of half floats; IREE's host runtime must agree with PyTorch."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.frontends import torch_halves

_MODEL = (
    support.TORCH_FUNCTIONS
    + """
F = torch.nn.functional
_NEAR = spec.Tolerance(1e-3, 1e-3)
# Sums of halves stop to grow, and their squares overflow.
_ONES = np.full((2, 600), 0.1, np.float16)
_ONES[:, 0] = 100
_LARGE = (np.random.default_rng(1).standard_normal((6, 40)) * 200).astype(np.float16)


def _near(function, *inputs):
    return spec.ModelSpec(Model(function), (inputs,), _NEAR)


def sums():
    x = np.array([[2048, 1, 1, 1, -2044], [60000, 0.5, -60000, 1, 2]], np.float16)
    return _near(lambda x: (x.sum(1), x.mean((0, 1)), x.mean(), x.sum()), x)


def one_after_the_other():
    return _near(
        lambda x: (x.cumsum(1), (x * 0 + 1.001).cumprod(1), x.sum(1, dtype=torch.float16)), _ONES
    )


def norms():
    return _near(
        lambda x: (x.norm(), torch.linalg.vector_norm(x, 3, 1), F.pairwise_distance(x, x / 2)),
        _LARGE,
    )


def brain():
    # IREE may leave out roundings to bf16, which has 8 bits.
    function = lambda x: (x.bfloat16().cumsum(1).float(), x.bfloat16().norm().float())
    return spec.ModelSpec(Model(function), ((_ONES.astype(np.float32),),), spec.Tolerance(0, 4e-3))


def roots():
    # Without an epsilon, that of floats counts.
    small = (_LARGE / 2000).astype(np.float16)
    return _near(lambda x, y: (F.rms_norm(x, (40,)), F.rms_norm(y, (40,))), _LARGE, small)


def both():
    return _near(lambda x: torch.var_mean(x, 1), _ONES)


def pools():
    return _near(lambda x: F.avg_pool1d(x, 600), _ONES)


def floats():
    return _near(
        lambda x: (x.sum(1, dtype=torch.float32), x.norm(dtype=torch.float32), x.float().sum(1)),
        _ONES,
    )
"""
)


class TorchHalvesTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        for factory in (
            *("sums", "one_after_the_other", "norms", "brain", "roots", "both", "pools", "floats"),
        ):
            with self.subTest(factory):
                self.assertIn(support.AGREES, self.load(factory).second_reference)

    def test_without_it_they_are_refused(self) -> None:
        # If one of these models can be imported, torch-mlir has mended what the model needs.
        for factory in ("sums", "one_after_the_other", "norms", "roots", "both", "pools"):
            with self.subTest(factory), mock.patch.object(torch_halves, "apply"):
                self.refuses("import-disagrees", call=lambda name=factory: self.load(name))


if __name__ == "__main__":
    unittest.main()
