"""Imports ops that torch-mlir gets wrong or refuses; IREE's host runtime must agree with PyTorch."""

from __future__ import annotations

import unittest
from unittest import mock

import support
import torch

from bmc.frontends import torch_empty, torch_substitutes

_MODEL = """
import numpy as np
import torch
import torch.nn.functional as F
from bmc import spec

_X = np.random.default_rng(1).standard_normal((2, 3, 5, 6)).astype(np.float32)
_KERNEL = torch.from_numpy(_X[:1, :, :3, :4].reshape(3, 1, 3, 4).copy())


class Depthwise(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kernel", _KERNEL)

    def forward(self, x):
        kernel = self.kernel
        return (
            F.conv_transpose2d(x, kernel, None, 1, 0, 0, 3),
            F.conv_transpose2d(x, kernel, kernel[:, 0, 0, 0], (2, 3), (1, 0), (1, 2), 3, (2, 1)),
            # Less than nothing is left of the padding, and of that behind the last element.
            F.conv_transpose2d(x, kernel[:, :, :1, :1], None, (3, 2), (2, 1), 0, 3),
            F.conv_transpose1d(x[:, :, 0], kernel[:, :, 0], None, 2, 1, 1, 3),
            # StableHLO lacks it, so the model becomes linalg.
            torch.topk(x, 2).values,
        )


def depthwise():
    return spec.ModelSpec(Depthwise(), ((_X,),), (spec.Tolerance(1e-5, 1e-5),) * 5)


class Empty(torch.nn.Module):
    def forward(self, x, none):
        return x[0, 0] * 2, torch.linalg.svdvals(none), x[:, :0].to(torch.float16), none.prod(0)


def empty():
    return spec.ModelSpec(Empty(), ((_X, _X[0, 0, :0]),), ())


class Spread(torch.nn.Module):
    def forward(self, x, none):
        return x[0, 0] * 2, *torch.var_mean(none, 0), none.std(unbiased=False)


def spread():
    return spec.ModelSpec(Spread(), ((_X, _X[0, 0, :0]),), ())


class Roll(torch.nn.Module):
    def forward(self, x):
        return torch.roll(x, (7, -13), (3, -2)), torch.roll(x, -4, 1)


class RollAll(torch.nn.Module):
    def forward(self, x):
        return torch.roll(x, 1), torch.roll(x, 1000)


class RollNothing(torch.nn.Module):
    def forward(self, x):
        return F.pixel_shuffle(torch.roll(x, -3, 0), 3)


def roll_nothing():
    return spec.ModelSpec(RollNothing(), ((_X.reshape(1, 9, 4, 5),),), spec.Exact())


def roll():
    return spec.ModelSpec(Roll(), ((_X,),), spec.Exact())


def roll_all():
    return spec.ModelSpec(RollAll(), ((_X,),), spec.Exact())


class Gelu(torch.nn.Module):
    def forward(self, x):
        # The second output makes the model linalg, as above.
        return F.gelu(x, approximate="tanh"), torch.topk(x, 2).values


class Decades(torch.nn.Module):
    def forward(self, x):
        numbers = torch.cat([x.abs().flatten(), torch.tensor([0.0, 1000.0, 1e-30, torch.inf])])
        return torch.log10(numbers), torch.log10(torch.arange(1, 5)), torch.topk(x, 2).values


def decades():
    return spec.ModelSpec(Decades(), ((_X,),), (spec.Tolerance(1e-6, 1e-6),) * 3)


class Bounded(torch.nn.Module):
    def forward(self, x):
        numbers = (x * 4).to(torch.int64)
        low = torch.tensor(-0.5)
        return (
            x.sum(1) / numbers.sum(1).clamp(min=1e-9),
            numbers.clamp(-0.5, 2.5),
            numbers.clamp(low, max=x),
            numbers.clamp(0, 3),
            numbers.to(torch.int32).clamp_min(numbers.flip(0)),
        )


def bounded():
    tolerance = spec.Tolerance(1e-5, 1e-5)
    exact = spec.Exact()
    return spec.ModelSpec(Bounded(), ((_X,),), (*(tolerance,) * 3, exact, exact))


class Statistics(torch.nn.Module):
    def __init__(self, training):
        super().__init__()
        self.layer, self.training_too = torch.nn.BatchNorm2d(3, track_running_stats=False), training
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("var", torch.ones(3))

    def forward(self, x):
        if self.training_too:
            return F.batch_norm(x, self.mean, self.var, training=True)
        return self.layer(x), F.batch_norm(x[:, :, 0], None, None, training=True)


def statistics():
    return spec.ModelSpec(Statistics(False), ((_X,),), (spec.Tolerance(1e-5, 1e-5),) * 2)


def kept_statistics():
    return spec.ModelSpec(Statistics(True), ((_X,),), spec.Tolerance(1e-5, 1e-5))


class Pools(torch.nn.Module):
    def forward(self, x):
        words = x.to(torch.int16) * 100
        return (F.max_pool2d(x, 3, 2, 1), *F.max_pool2d(words, 2, return_indices=True))


def pools():
    x = np.random.default_rng(2).permutation(192).reshape(1, 3, 8, 8) - 96
    return spec.ModelSpec(Pools(), ((x.astype(np.int8),),), (spec.Exact(),) * 3)


class Largest(torch.nn.Module):
    def forward(self, x):
        return x.amax(1), x.amin(0), x.amax((0, 1)), x[:1].max(), x.min()


def largest():
    some = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 1]], bool)
    return spec.ModelSpec(Largest(), ((some,), (np.ones((3, 3), bool),)), spec.Exact())


class Bytes(torch.nn.Module):
    def forward(self, x):
        return x.amax(1), x.amin(0), *x.max(1), *x.min(1), x.argmax(0), x.argmin(), x.max()


def bytes_():
    some = np.array([[3, 9, 9], [1, 127, 5], [8, 8, 7]], np.uint8)
    return spec.ModelSpec(Bytes(), ((some,), (some + np.uint8(126),)), spec.Exact())


class Negative(torch.nn.Module):
    def forward(self, x):
        return -x, torch.topk(x, 2).values  # which StableHLO lacks


def negatives():
    return spec.ModelSpec(Negative(), ((np.array([2**53 + 1, -(2**63), 7]),),), spec.Exact())


class Sorts(torch.nn.Module):
    def forward(self, x, i):
        return (
            *torch.sort(x, stable=True),
            *torch.sort(x, dim=1, descending=True, stable=True),
            *torch.sort(i, dim=0, stable=True, descending=True),
            torch.argsort(i, dim=1, stable=True),
        )


def sorts():
    rng = np.random.default_rng(3)
    x, i = rng.integers(-2, 3, (5, 9)).astype(np.float32), rng.integers(-2, 3, (9, 7))
    return spec.ModelSpec(Sorts(), ((x, i),), spec.Exact())


class Roots(torch.nn.Module):
    def forward(self, x):
        return x.pow(0.5), x**-0.5, (x * 2).pow(0.25), x.pow(2)


def roots():
    x = np.array([-np.inf, -4, -0.0, 0, 0.25, 9, np.inf, np.nan], np.float32)
    return spec.ModelSpec(Roots(), ((x,),), (spec.Tolerance(1e-5, 1e-5),) * 4)


class LogSums(torch.nn.Module):
    def forward(self, x):
        return x.logcumsumexp(-1), x.logcumsumexp(0), x[0].logcumsumexp(0)


def log_sums():
    x = np.array([[1, -3, 144, 2], [-200, -150, 0.5, 300]], np.float32)
    return spec.ModelSpec(LogSums(), ((x,),), (spec.Tolerance(1e-5, 1e-5),) * 3)


def norm():
    cases = ((_X,), (0 * _X,), (1e-4 * _X,))
    return spec.ModelSpec(torch.nn.RMSNorm(_X.shape[-1]), cases, spec.Tolerance(1e-5, 1e-5))


class Joined(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("nothing", torch.zeros(0, 4))

    def forward(self, x):
        return torch.cat([self.nothing, x])


def joined():
    return spec.ModelSpec(Joined(), ((np.ones((2, 4), np.float32),),), spec.Exact())


class Ordered(torch.nn.Module):
    def forward(self, x):
        return x.topk(2, 1)[0], x.sort(1)[0], x.sort(stable=True, dim=1, descending=True)


def ordered():
    x = np.array([[200, 1, 129, 0], [5, 255, 128, 127]], np.uint8)
    return spec.ModelSpec(Ordered(), ((x,),), spec.Exact())


class Random(torch.nn.Module):
    def __init__(self, training):
        super().__init__()
        self.layer, self.random = torch.nn.RReLU(), training

    def forward(self, x):
        return self.layer(x), F.rrelu(x, 0.1, 0.5, self.random)


class Signs(torch.nn.Module):
    def forward(self, x, sign):
        return torch.copysign(x, sign)


def signs():
    x, sign = np.int32([-(2**31), 0, 0, 5]), np.float32([1, -1, 1, -0.0])
    return spec.ModelSpec(Signs(), ((x, sign),), (spec.Exact(),))


class Rounded(torch.nn.Module):
    def forward(self, x):
        return torch.round(x, decimals=1)


def rounded():
    x = np.float16([0.05, 20256, 65504, -7000, 1.26, -0.35])
    return spec.ModelSpec(Rounded(), ((x,),), (spec.Exact(),))


class Grids(torch.nn.Module):
    def forward(self, x, grid):
        first = F.grid_sample(x, grid, "nearest", "border", True)
        return first, F.grid_sample(x, grid, "bilinear", "reflection", False)


def grids():
    grid = np.linspace(-1.2, 1.2, 2 * 8, dtype=np.float32).reshape(2, 1, 4, 2)
    grid[0, 0, 0, 0] = grid[1, 0, 2] = np.nan
    grid[0, 0, 1, 1] = np.inf
    return spec.ModelSpec(Grids(), ((_X, grid),), (spec.Tolerance(1e-5, 1e-5),) * 2)


def settled():
    return spec.ModelSpec(Random(False), ((_X,),), (spec.Tolerance(1e-6, 1e-6),) * 2)


def random():
    return spec.ModelSpec(Random(True), ((_X,),), (spec.Tolerance(1e-6, 1e-6),) * 2)


def gelu():
    return spec.ModelSpec(Gelu(), ((_X,),), (spec.Tolerance(1e-5, 1e-5),) * 2)
"""


class _Others(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        weight = torch.ones(4, 1, 3, 3)
        return (
            torch.roll(x, (1, 2), (2, 3)),
            torch.conv2d(x, weight, groups=4),
            torch.conv_transpose2d(x, weight),
            torch.conv_transpose2d(x, torch.ones(4, 2, 3, 3), groups=4),
            torch.nn.functional.max_pool2d(x, 2),
            torch.nn.functional.gelu(x),
            torch.nn.functional.gelu(x.half(), approximate="tanh"),
        )


class SubstitutesTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        for factory in (
            "depthwise",
            "roll",
            "roll_all",
            "roll_nothing",
            "pools",
            "gelu",
            "sorts",
            "largest",
            "roots",
            "norm",
            "negatives",
            "log_sums",
            "joined",
            "ordered",
            "settled",
            "decades",
            "bounded",
            "statistics",
            "signs",
            "rounded",
            "grids",
            "empty",
            "spread",
        ):
            with self.subTest(factory):
                self.assertIn(support.AGREES, self.load(factory).second_reference)

    def test_without_it_they_are_refused(self) -> None:
        # If one of these models can be imported, torch-mlir has mended what the model needs.
        for factory, kind in (
            ("depthwise", "op-rejected"),
            ("roll", "import-disagrees"),
            ("roll_all", "op-rejected"),
            ("gelu", "import-disagrees"),
            ("sorts", "op-rejected"),
            ("largest", "import-disagrees"),
            ("roots", "import-disagrees"),
            ("norm", "import-disagrees"),
            ("negatives", "import-disagrees"),
            ("log_sums", "import-disagrees"),
            ("bytes_", "import-disagrees"),
            ("joined", "op-rejected"),
            ("ordered", "op-rejected"),
            ("decades", "missing-function"),
            ("bounded", "op-rejected"),
            ("signs", "import-disagrees"),
            ("rounded", "import-disagrees"),
        ):
            with self.subTest(factory), mock.patch.object(torch_substitutes, "apply"):
                self.refuses(kind, call=lambda name=factory: self.load(name))

        with mock.patch.object(torch_substitutes, "prepare"):
            self.refuses("import-disagrees", call=lambda: self.load("grids"))
        with mock.patch.object(torch_empty, "apply"):
            self.refuses("op-rejected", call=lambda: self.load("empty"))
            self.refuses("import-disagrees", call=lambda: self.load("spread"))

    def test_random_numbers_are_refused(self) -> None:
        self.refuses("train-mode", "rrelu", call=lambda: self.load("random"))
        with mock.patch.object(torch_substitutes, "settle"):
            self.refuses("random-model", "rrelu", call=lambda: self.load("settled"))

    def test_statistics_that_are_kept_are_refused(self) -> None:
        self.refuses("train-mode", "batch_norm", call=lambda: self.load("kept_statistics"))

    def test_others_stay_as_they_are(self) -> None:
        program = torch.export.export(_Others(), (torch.zeros(1, 4, 8, 8),))
        program = program.run_decompositions({})
        before = str(program.graph)
        torch_substitutes.apply(program)
        self.assertEqual(str(program.graph), before)


if __name__ == "__main__":
    unittest.main()
