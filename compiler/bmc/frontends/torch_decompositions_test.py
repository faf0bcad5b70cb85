"""Imports ops that PyTorch's code decomposes here; IREE's host runtime must agree with PyTorch."""

from __future__ import annotations

import inspect
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import support
import torch

from bmc.frontends import torch_decompositions, torch_special

_MODEL = (
    support.TORCH_FUNCTIONS
    + """
_RNG = np.random.default_rng(1)
_X = _RNG.standard_normal((3, 6)).astype(np.float32)
_X[1, 2:4] = np.nan, _X[1, 1]
_NEAR = _X * np.array([1, 1 + 1e-6, 1, 2, 1, 1], np.float32)
_INTS = np.array([[12, -18, 0, 7, 2**31 - 1, 1], [18, 27, 0, 0, 1836311903, -5]], np.int32)
_SQUARE = _RNG.standard_normal((2, 4, 4)).astype(np.float32)
_SQUARE[1, 0, 0] = 0
_SIGNAL = _RNG.standard_normal((2, 60)).astype(np.float32)
# IREE's host flushes subnormal numbers.
_BITS = np.array([0.0, -0.0, 1, -1, 1.5, 3e38, np.inf, -np.inf, 1e-30], np.float32)
_REAL = np.concatenate([np.linspace(-7.3, 12.1, 60), [0.3, -0.7, 40, 1, 2]]).astype(np.float32)


def _near(function, *inputs):
    results = function(*map(torch.from_numpy, inputs))
    near, exact = spec.Tolerance(2e-5, 2e-5), spec.Exact()
    results = results if isinstance(results, tuple) else (results,)
    tolerance = tuple(near if each.is_floating_point() else exact for each in results)
    return spec.ModelSpec(Model(function), (inputs,), tolerance)


def _choices(x, y, z):
    numbers = y.nan_to_num()
    return (
        *torch.cummax(x, 1), *torch.cummin(x.half(), 0), *torch.cummax(x.bfloat16(), 1),
        torch.dist(numbers, z.nan_to_num(), 1), torch.hypot(numbers, z.nan_to_num()), torch.view_copy(numbers, (6, 3)),
        torch.fmax(x, y), torch.fmin(x[:, :1], y), torch.isclose(x, z, equal_nan=True),
        torch.searchsorted(y[0].sort().values, x, right=True),
        *torch.nanmedian(x, 1), torch.nanmedian(x), torch.histc(numbers, 5), torch.histc(numbers, 4, -1, 1),
    )


def choices():
    return _near(_choices, _X, np.roll(_X, 1, 0)[:, ::-1].copy(), _NEAR)


def bits():
    function = lambda x, y: (*torch.frexp(x), *torch.frexp(x.half()), torch.nextafter(x[2:], y[2:]), torch.hypot(x, x))
    return _near(function, _BITS, -_BITS[::-1].copy())


def integers():
    def function(x):
        less = torch.where(x[0] > 100, x[0] - 1, x[0])
        same = torch.isclose(x[0], less, rtol=0.0, atol=0.0)
        return torch.gcd(x[0], x[1]), torch.lcm(x[0, :3], x[1, :3]), same

    return _near(function, _INTS)


def _matrices(x, y):
    l = torch.linalg
    square = x @ x.mT + torch.eye(4)
    lower = l.cholesky(square)
    factors, pivots = l.lu_factor(x)
    return (
        lower, torch.cholesky_solve(y, lower), torch.cholesky_inverse(lower), l.inv(x),
        l.solve(x, y), l.solve(x, y.mT, left=False), l.solve_triangular(lower.mT, y, upper=True),
        factors, pivots, l.lu_solve(factors, pivots, y), l.lu_solve(factors, pivots, y, adjoint=True),
        *l.lu(x[:, :3]), *torch.lu_unpack(factors, pivots), *l.qr(x[:, :, :3]), *l.qr(x[0], "complete"),
        torch.block_diag(x[0], y[1]), torch.diagonal_scatter(x, y[:, :3, 0], -1, 1, 2),
        torch.linalg.det(x), *torch.linalg.slogdet(x.mT),
        *torch.geqrf(y), torch.ormqr(*torch.geqrf(y), y), torch.linalg.householder_product(*torch.geqrf(y)),
        torch.cdist(x, y.mT), torch.addbmm(x[0, :, :2], x, y),
        torch.nn.functional.avg_pool3d(x[None, None], 2, padding=1, divisor_override=3),
    )


def matrices():
    return _near(_matrices, _SQUARE, np.ascontiguousarray(_SQUARE[:, :, 1:3]))


def _complex(z, x):
    return (
        (z.sum() * z.mean(1)).abs(), (z + x * 2j - 1).abs(), (z @ z.mT - z[0, 0]).abs(),
        torch.where(x > 0, z, x * 1j).imag, (-z).imag, (z / (z * 1e-25 * (1 + 1j))).imag * 1e-25,
    )


def _transforms(x):
    f, window = torch.fft, torch.hann_window(16)
    return (
        f.irfft(f.rfft(x) * f.rfft(x.flip(0)).conj()), f.fft(x, 31).real, f.ifft2(f.fft2(x)).real,
        f.hfft(x[:, :9]), f.irfftn(x[:, :14], (2, 25)), f.ihfft(x).imag, f.fftshift(x),
        f.rfft(x, norm="ortho").abs(), f.fft(x, 14).angle().cos(), f.fft(x, 14).exp().real,
        torch.stft(x, 16, 4, window=window, return_complex=True).abs(),
        torch.stft(x, 16, 5, 12, return_complex=False),
        torch.view_as_real(f.rfft2(x) / (1 + 2j)), *_complex(f.fft(x[:, :9]), x[:, :9]),
    )


def transforms():
    return _near(_transforms, _SIGNAL)


def _special(x):
    s = torch.special
    return (
        torch.digamma(x), torch.lgamma(x), torch.polygamma(2, x), s.erfcx(x / 3), s.erfc(x), s.i0e(x),
        s.i1(x / 3), s.bessel_j0(x), s.bessel_y1(x), s.scaled_modified_bessel_k0(x),
        s.modified_bessel_k1(x), s.ndtri((x / 30).abs()), torch.erfinv(x / 41),
    )


def special():
    return _near(_special, _REAL)


def _series(x, n):
    s = torch.special
    y = x.abs().clamp(0.1, 9)
    return (
        torch.igamma(y, y.flip(0)), torch.igammac(y, y.flip(0)), s.zeta(y + 1.1, y),
        torch.linalg.matrix_exp(x[:64].reshape(8, 8) / 9),
        s.chebyshev_polynomial_t(x / 9, n), s.shifted_chebyshev_polynomial_w(x / 9, n),
        s.hermite_polynomial_he(x / 9, n), s.laguerre_polynomial_l(x / 9, n), s.legendre_polynomial_p(x / 9, n),
    )


def series():
    return _near(_series, _REAL, np.arange(len(_REAL), dtype=np.float32) % 9 - 1)


def _reductions(x, i, mask):
    f = torch.nn.functional
    flags, bytes_ = mask.expand(6, 6), x.to(torch.int8)
    rows = x.scatter_reduce(-1, i.expand(6, 6), x.T, "amin")
    whole = x.clone()
    whole[mask] = x[0]
    return (
        rows, whole, x.index_reduce(1, i, x, "mean", include_self=False),
        bytes_.index_reduce(0, i, bytes_.T, "mean"), bytes_.scatter_reduce(-1, i.expand(6, 6), bytes_, "amax"),
        x.index_reduce(0, i, x, "prod"), flags.scatter_add(0, i.expand(6, 6).mT, flags),
        x.scatter(0, i.expand(2, 6), x, reduce="add"), x.put(i - 6, x[1], True), *i.mode(), *bytes_.mode(0),
        torch.segment_reduce(x, "mean", lengths=i), bytes_.cumsum(1, dtype=torch.int8), x[0, 0].clone().resize_([]),
        f.embedding_bag(i, x.mT, torch.tensor([0, 2]), mode="sum", per_sample_weights=x[0]),
        torch.segment_reduce(x, "max", offsets=i.sort().values, initial=0.5),
        x.angle(), i.isfinite(), x[0, 0].gather(0, i * 0), x.bfloat16().sort().values.float(),
        f.interpolate(x[None, None], (3, 8), mode="bilinear", antialias=True),
        f.interpolate(x[None, None], (4, 2), mode="bicubic", antialias=True),
        f.linear_cross_entropy(x, x, i), torch.linalg.norm(x), torch.linalg.norm(x[0], 3.5),
    )


def reductions():
    x = _RNG.standard_normal((6, 6)).astype(np.float32)
    return _near(_reductions, x, np.array([3, 0, 1, 1, 1, 0]), np.array([1, 0, 0, 1, 1, 0], bool))


def large():
    return _near(lambda x: torch.linalg.inv(x @ x.mT + torch.eye(33)), np.ones((33, 2), np.float32))
"""
)


_FACTORIES = (
    "choices", "bits", "integers", "matrices", "transforms", "special", "series", "reductions",
)  # fmt: skip


class DecompositionsTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        for factory in _FACTORIES:
            with self.subTest(factory):
                self.assertIn(support.AGREES, self.load(factory).second_reference)

    def test_without_them_they_are_refused(self) -> None:
        # If one of these models can be imported, torch-mlir has mended what the model needs.
        from torch_mlir.extras.fx_decomp_util import get_decomposition_table

        plain = mock.patch.object(torch_decompositions, "table", get_decomposition_table)
        for factory in _FACTORIES:
            with self.subTest(factory), plain:
                self.refuses("op-rejected", call=lambda name=factory: self.load(name))

    def test_large_matrices_are_refused_by_name(self) -> None:
        self.refuses("op-rejected", "linalg_inv", call=lambda: self.load("large"))


class SpecialTest(unittest.TestCase):
    def test_they_are_pytorchs_functions(self) -> None:
        x = torch.cat(
            [
                torch.linspace(-12.003, 12.1, 2001, dtype=torch.float64),
                torch.linspace(-0.999, 0.999, 801, dtype=torch.float64),
                torch.logspace(-30, 0, 200, dtype=torch.float64),
                torch.tensor([0.0, -0.0, 1, 2, torch.nan, 30, 60, 1e3]).double(),
            ]
        )
        for op, function in torch_special.table().items():
            if _takes_two(op, function):
                continue
            orders = ([0], [1], [2], [5]) if "polygamma" in str(op) else ([],)
            for order in orders:
                with self.subTest(op, order=order):
                    wanted, got = op(*order, x), function(*order, x)
                    # Where PyTorch's trigamma function has no value, rounding gives it one.
                    known = wanted.abs() < 1e15
                    torch.testing.assert_close(
                        got[known], wanted[known], rtol=1e-9, atol=1e-9, equal_nan=True
                    )
                    self.assertTrue(torch.equal(got.isnan(), wanted.isnan()))

    def test_of_two_numbers(self) -> None:
        x = torch.linspace(-2, 30, 97, dtype=torch.float64).unsqueeze(-1)
        y = torch.tensor([-1.0, 0.0, 1, 2, 5, 12, 30], dtype=torch.float64)
        for op, function in torch_special.table().items():
            if _takes_two(op, function):
                with self.subTest(op):
                    torch.testing.assert_close(
                        function(x, y), op(x, y), rtol=1e-8, atol=1e-8, equal_nan=True
                    )


def _takes_two(op: Any, function: Callable[..., Any]) -> bool:
    return len(inspect.signature(function).parameters) == 2 and "polygamma" not in str(op)


if __name__ == "__main__":
    unittest.main()
