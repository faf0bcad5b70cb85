"""Operators of PyTorch, each an entry point of one of three models. A model is what one tolerance fits.

Inputs are seeded, and the expected outputs are PyTorch's. BUILD.bazel names the factories.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import torch

from bmc.spec import Array, Call, Exact, ModelSpec, Policy, Tolerance

_F32 = Tolerance(atol=1e-5, rtol=1e-5)
# Sums of a few hundred products, in another order than PyTorch's.
_F32_SUM = Tolerance(atol=5e-5, rtol=1e-5)


def _f32(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _bf16() -> Array:
    x = _f32(9, 20).astype(ml_dtypes.bfloat16)
    x[0, :6] = [np.nan, np.inf, -np.inf, -0.0, 3e38, 1e-37]
    return x


def _spec(module: torch.nn.Module, tolerance: Policy, /, **inputs: tuple[Array, ...]) -> ModelSpec:
    """Calls each method of `module` that `inputs` names."""
    calls = tuple(Call(entry, arrays) for entry, arrays in inputs.items())
    return ModelSpec(module=module.eval(), cases=(), calls=calls, tolerance=tolerance)


class _Moves(torch.nn.Module):
    """Moves, compares or selects elements, or computes with integers: every bit must be right."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = torch.nn.Embedding(50, 24)
        self.register_buffer("table", torch.randn(20, 12))

    def add(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b

    def max_pool2d(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.max_pool2d(x, 2)

    def without_elements(
        self, x: torch.Tensor, none: torch.Tensor, unused: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        return torch.cat([x, none.reshape(2, 0)], 1), none.prod(1), none.transpose(0, 1), x[:, 3:3]

    def only_without_elements(self, x: torch.Tensor) -> torch.Tensor:
        return x[:0]

    def gather(self, ids: torch.Tensor) -> torch.Tensor:
        return self.embedding(ids)

    def gather_of_slices(self, x: torch.Tensor, which: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Reads parts of larger tensors by computed indices. Covers rows with gaps between them, flat or
        not, two and three dimensions, integers, an input, and a buffer in the arena."""
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

    def transpose(self, x: torch.Tensor) -> torch.Tensor:
        return x.permute(2, 0, 1).contiguous()

    def reduce_max(self, x: torch.Tensor) -> torch.Tensor:
        return x.amax(dim=0)

    def concat(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.cat([a, b], dim=1)

    def where(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.where(a > 0, a, b)

    def bfloat16(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Takes and returns numbers of 16 bits: NaN, infinities and ties among them."""
        return x.flip(1), x.float() * 3, (x.float() * 3).bfloat16(), x * 3

    def float_to_int(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.int32)

    def position(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ceil(x * 0.5555556 - 1.5)  # The product of 4.5 rounds to 2.5.

    def int32_arithmetic(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y + x


def moves() -> ModelSpec:
    integers = np.random.default_rng(0)
    return _spec(
        _Moves(),
        Exact(),
        add=(_f32(17, 33), _f32(17, 33, seed=1)),
        max_pool2d=(_f32(1, 4, 16, 16),),
        without_elements=(_f32(2, 5), _f32(2, 0, 3), _f32(0, 4)),
        only_without_elements=(_f32(2, 5),),
        gather=(integers.integers(0, 50, (2, 9)),),
        gather_of_slices=(_f32(3, 6, 8) * 9, np.array([2, 0, 1])),
        transpose=(_f32(5, 7, 19),),
        reduce_max=(_f32(30, 40),),
        concat=(_f32(3, 5), _f32(3, 9, seed=1)),
        where=(_f32(11, 13), _f32(11, 13, seed=1)),
        bfloat16=(_bf16(),),
        float_to_int=(_f32(7, 33) * 1000,),
        position=(np.arange(9, dtype=np.float32) + np.float32(0.5),),
        int32_arithmetic=(
            integers.integers(-1000, 1000, (9, 21), dtype=np.int32),
            integers.integers(1, 50, (9, 21), dtype=np.int32),
        ),
    )


class _Pointwise(torch.nn.Module):
    """Computes each element by itself, or from a row of at most a hundred."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.norm = torch.nn.LayerNorm(96)

    def avg_pool2d(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.avg_pool2d(x, 2)

    def softmax(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)

    def layer_norm(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)

    def gelu(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x)

    def tanh(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x)

    def sigmoid(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x)

    def exp(self, x: torch.Tensor) -> torch.Tensor:
        return torch.exp(x)

    def pow(self, base: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
        return torch.pow(base, exponent)

    def rsqrt(self, x: torch.Tensor) -> torch.Tensor:
        return torch.rsqrt(x)

    def sin(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)

    def tan(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tan(x)


def pointwise() -> ModelSpec:
    x = _f32(8, 100)
    return _spec(
        _Pointwise(),
        _F32,
        avg_pool2d=(_f32(1, 4, 16, 16),),
        softmax=(_f32(16, 50),),
        layer_norm=(_f32(8, 96),),
        gelu=(x * 3,),
        tanh=(x * 3,),
        sigmoid=(x * 3,),
        exp=(x,),
        pow=(np.abs(_f32(8, 33)) + np.float32(0.1), _f32(8, 33, seed=1)),
        rsqrt=(np.abs(x) + np.float32(0.1),),
        # Thousands of turns, of which only the fraction counts.
        sin=(x * np.float32(1e5),),
        tan=(x * np.float32(1e5),),
    )


class _Sums(torch.nn.Module):
    """Sums of up to a few hundred products."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.dense = torch.nn.Linear(64, 48)
        self.conv = torch.nn.Conv2d(8, 16, 3, padding=1)
        self.strided = torch.nn.Conv2d(3, 8, 3, stride=2)
        self.column = torch.nn.Conv2d(8, 16, (7, 1), stride=(2, 1), padding=(3, 0))
        self.depthwise = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.apart = torch.nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.overlapping = torch.nn.ConvTranspose2d(8, 12, (3, 4), (2, 3), (1, 2), (1, 0))

    def matmul(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b

    def matmul_odd(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b

    def batch_matmul_transposed(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return q @ k.transpose(1, 2)

    def linear(self, x: torch.Tensor) -> torch.Tensor:
        return self.dense(x)

    def conv2d(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)

    def conv2d_strided(self, x: torch.Tensor) -> torch.Tensor:
        return self.strided(x)

    def conv2d_column(self, x: torch.Tensor) -> torch.Tensor:
        return self.column(x)

    def depthwise_conv2d(self, x: torch.Tensor) -> torch.Tensor:
        return self.depthwise(x)

    def conv_transpose2d(self, x: torch.Tensor) -> torch.Tensor:
        return self.apart(x)

    def conv_transpose2d_overlapping(self, x: torch.Tensor) -> torch.Tensor:
        return self.overlapping(x)

    def reduce_sum(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(dim=1)


def sums() -> ModelSpec:
    return _spec(
        _Sums(),
        _F32_SUM,
        matmul=(_f32(64, 96), _f32(96, 80, seed=1)),
        matmul_odd=(_f32(13, 29), _f32(29, 7, seed=1)),
        batch_matmul_transposed=(_f32(2, 32, 64), _f32(2, 48, 64, seed=1)),
        linear=(_f32(16, 64),),
        conv2d=(_f32(1, 8, 14, 14),),
        conv2d_strided=(_f32(1, 3, 15, 15),),
        conv2d_column=(_f32(1, 8, 13, 9),),
        depthwise_conv2d=(_f32(1, 16, 12, 12),),
        conv_transpose2d=(_f32(1, 16, 9, 11),),
        conv_transpose2d_overlapping=(_f32(1, 8, 7, 10),),
        reduce_sum=(_f32(6, 200),),
    )
