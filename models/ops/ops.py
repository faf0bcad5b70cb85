"""One small model per operator. Each function is a factory that BUILD.bazel names.

Inputs are seeded, and the expected outputs are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from bmc.spec import Exact, IntStep, ModelSpec, Tolerance

F32 = Tolerance(atol=1e-5, rtol=1e-5)
# Sums of a few hundred products, in another order than PyTorch's.
F32_SUM = Tolerance(atol=5e-5, rtol=1e-5)


class _Op(torch.nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


def _f32(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _spec(
    model: Callable[..., torch.Tensor],
    *inputs: np.ndarray,
    tolerance: Tolerance | Exact | IntStep = F32,
) -> ModelSpec:
    module = model if isinstance(model, torch.nn.Module) else _Op(model)
    return ModelSpec(module=module.eval(), cases=(inputs,), tolerance=tolerance)


def _seeded(make: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    torch.manual_seed(0)
    return make()


def add() -> ModelSpec:
    return _spec(torch.add, _f32(17, 33), _f32(17, 33, seed=1), tolerance=Exact())


def matmul() -> ModelSpec:
    return _spec(torch.matmul, _f32(64, 96), _f32(96, 80, seed=1), tolerance=F32_SUM)


def matmul_odd() -> ModelSpec:
    return _spec(torch.matmul, _f32(13, 29), _f32(29, 7, seed=1), tolerance=F32_SUM)


def batch_matmul_transposed() -> ModelSpec:
    return _spec(
        lambda q, k: q @ k.transpose(1, 2),
        _f32(2, 32, 64),
        _f32(2, 48, 64, seed=1),
        tolerance=F32_SUM,
    )


def linear() -> ModelSpec:
    return _spec(_seeded(lambda: torch.nn.Linear(64, 48)), _f32(16, 64), tolerance=F32_SUM)


def conv2d() -> ModelSpec:
    conv = _seeded(lambda: torch.nn.Conv2d(8, 16, 3, padding=1))
    return _spec(conv, _f32(1, 8, 14, 14), tolerance=F32_SUM)


def conv2d_strided() -> ModelSpec:
    conv = _seeded(lambda: torch.nn.Conv2d(3, 8, 3, stride=2))
    return _spec(conv, _f32(1, 3, 15, 15), tolerance=F32_SUM)


def conv2d_column() -> ModelSpec:
    conv = _seeded(lambda: torch.nn.Conv2d(8, 16, (7, 1), stride=(2, 1), padding=(3, 0)))
    return _spec(conv, _f32(1, 8, 13, 9), tolerance=F32_SUM)


def depthwise_conv2d() -> ModelSpec:
    conv = _seeded(lambda: torch.nn.Conv2d(16, 16, 3, padding=1, groups=16))
    return _spec(conv, _f32(1, 16, 12, 12), tolerance=F32_SUM)


def max_pool2d() -> ModelSpec:
    return _spec(torch.nn.MaxPool2d(2), _f32(1, 4, 16, 16), tolerance=Exact())


def avg_pool2d() -> ModelSpec:
    return _spec(torch.nn.AvgPool2d(2), _f32(1, 4, 16, 16))


def softmax() -> ModelSpec:
    return _spec(torch.nn.Softmax(dim=-1), _f32(16, 50))


def layer_norm() -> ModelSpec:
    return _spec(_seeded(lambda: torch.nn.LayerNorm(96)), _f32(8, 96))


def gelu() -> ModelSpec:
    return _spec(torch.nn.GELU(), _f32(8, 100) * 3)


def tanh() -> ModelSpec:
    return _spec(torch.tanh, _f32(8, 100) * 3)


def sigmoid() -> ModelSpec:
    return _spec(torch.sigmoid, _f32(8, 100) * 3)


def exp() -> ModelSpec:
    return _spec(torch.exp, _f32(8, 100))


def pow() -> ModelSpec:
    base = np.abs(_f32(8, 33)) + np.float32(0.1)
    return _spec(torch.pow, base, _f32(8, 33, seed=1))


def rsqrt() -> ModelSpec:
    return _spec(torch.rsqrt, np.abs(_f32(8, 100)) + np.float32(0.1))


def gather() -> ModelSpec:
    embedding = _seeded(lambda: torch.nn.Embedding(50, 24))
    ids = np.random.default_rng(0).integers(0, 50, (2, 9))
    return _spec(embedding, ids, tolerance=Exact())


class _OfSlices(torch.nn.Module):
    """Reads parts of larger tensors by computed indices. Covers rows with gaps between them, flat or not,
    two and three dimensions, integers, an input, and a buffer in the arena."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.randn(20, 12))

    def forward(self, x: torch.Tensor, which: torch.Tensor) -> tuple[torch.Tensor, ...]:
        part = x[:, 1:5, 2:7]
        edge = torch.nn.functional.pad(part, (2, 1, 1, 2), mode="reflect")
        return (
            edge[:, 1:4, 2:7].flip(1, 2),
            part[1].flip(1).reshape(-1),
            part.flip(1, 2),
            part.to(torch.int32).flip(2),
            torch.index_select(part, 2, which),
            part[which, which + 1, which + 2],
            torch.nn.functional.embedding(which, self.table[5:15, 3:8]),
            torch.nn.functional.embedding(which, x[:, 0]),
            torch.gather(part[2], 1, which[None, :].expand(4, 3)),
        )


def gather_of_slices() -> ModelSpec:
    which = np.array([2, 0, 1])
    return _spec(_seeded(_OfSlices), _f32(3, 6, 8) * 9, which, tolerance=Exact())


def transpose() -> ModelSpec:
    return _spec(lambda x: x.permute(2, 0, 1).contiguous(), _f32(5, 7, 19), tolerance=Exact())


def reduce_sum() -> ModelSpec:
    return _spec(lambda x: x.sum(dim=1), _f32(6, 200), tolerance=F32_SUM)


def reduce_max() -> ModelSpec:
    return _spec(lambda x: x.amax(dim=0), _f32(30, 40), tolerance=Exact())


def concat() -> ModelSpec:
    return _spec(
        lambda a, b: torch.cat([a, b], dim=1), _f32(3, 5), _f32(3, 9, seed=1), tolerance=Exact()
    )


def where() -> ModelSpec:
    return _spec(
        lambda a, b: torch.where(a > 0, a, b), _f32(11, 13), _f32(11, 13, seed=1), tolerance=Exact()
    )


def float_to_int() -> ModelSpec:
    x = np.random.default_rng(0).normal(0, 1000, (7, 33)).astype(np.float32)
    return _spec(lambda x: x.to(torch.int32), x, tolerance=Exact())


def int32_arithmetic() -> ModelSpec:
    a = np.random.default_rng(0).integers(-1000, 1000, (9, 21), dtype=np.int32)
    b = np.random.default_rng(1).integers(1, 50, (9, 21), dtype=np.int32)
    return _spec(lambda x, y: x * y + x, a, b, tolerance=Exact())
