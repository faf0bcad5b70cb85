"""PyTorch's ops, each as a function of one image or one matrix, in f32."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from op_case import OpCase

from bmc import spec
from bmc.artifacts import ImportedModel
from bmc.frontends import torch as frontend
from bmc.frontends.options import ImportOptions

_IMAGE = (1, 4, 8, 8)


@functools.cache
def _weight(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 0.3


# Name below torch. -> a function of one image, NCHW.
_OPS: dict[str, Callable[[torch.Tensor], Any]] = {
    "abs": torch.abs,
    "add": lambda x: x + x.flip(2),
    "amax": lambda x: torch.amax(x, (2, 3)),
    "argmax": lambda x: torch.argmax(x, 1),
    "atan2": lambda x: torch.atan2(x, x.flip(2)),
    "bmm": lambda x: torch.bmm(x[0], x[0].transpose(1, 2)),
    "cat": lambda x: torch.cat([x, x * 2], 1),
    "ceil": torch.ceil,
    "chunk": lambda x: torch.chunk(x, 2, 1),
    "clamp": lambda x: torch.clamp(x, -0.5, 0.5),
    "cos": torch.cos,
    "cumsum": lambda x: torch.cumsum(x, 2),
    "div": lambda x: x / (x.abs() + 1),
    "einsum": lambda x: torch.einsum("bchw,bdhw->bcd", x, x),
    "erf": torch.erf,
    "exp": torch.exp,
    "expand": lambda x: x[:, :1].expand(_IMAGE) + x,
    "fft.fft": lambda x: torch.view_as_real(torch.fft.fft(x)),
    "floor": torch.floor,
    "gather": lambda x: torch.gather(x, 1, torch.tensor([[[[0, 3]]]])),
    "gt": lambda x: x > 0.3,
    "index_select": lambda x: torch.index_select(x, 2, torch.tensor([3, 1])),
    "linalg.inv": lambda x: torch.linalg.inv(x + 10 * torch.eye(8)),
    "linalg.svd": lambda x: torch.linalg.svd(x)[1],
    "log": lambda x: torch.log(x.abs() + 1),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "masked_fill": lambda x: x.masked_fill(x > 0, 1.5),
    "matmul": lambda x: x @ x.transpose(2, 3),
    "max": lambda x: torch.max(x, 1),
    "maximum": lambda x: torch.maximum(x, x.flip(3)),
    "mean": lambda x: torch.mean(x, (2, 3)),
    "mul": lambda x: x * x.flip(2),
    "nn.functional.adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1),
    "nn.functional.avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "nn.functional.batch_norm": lambda x: F.batch_norm(x, _weight(4), _weight(4).abs() + 1),
    "nn.functional.conv1d": lambda x: F.conv1d(x[0, 0], _weight(4, 8, 3), padding=1),
    "nn.functional.conv2d": lambda x: F.conv2d(x, _weight(8, 4, 3, 3), padding=1),
    "nn.functional.conv2d (depthwise)": lambda x: F.conv2d(x, _weight(4, 1, 3, 3), groups=4),
    "nn.functional.conv_transpose2d": lambda x: F.conv_transpose2d(
        x, _weight(4, 8, 2, 2), stride=2
    ),
    "nn.functional.elu": F.elu,
    "nn.functional.embedding": lambda x: F.embedding((x > 0).long(), _weight(2, 4)),
    "nn.functional.gelu": F.gelu,
    "nn.functional.grid_sample": lambda x: F.grid_sample(
        x, torch.tanh(x[:, :2].permute(0, 2, 3, 1)), align_corners=False
    ),
    "nn.functional.group_norm": lambda x: F.group_norm(x, 2),
    "nn.functional.hardswish": F.hardswish,
    "nn.functional.interpolate (bilinear)": lambda x: F.interpolate(
        x, scale_factor=2, mode="bilinear", align_corners=False
    ),
    "nn.functional.interpolate (nearest)": lambda x: F.interpolate(x, scale_factor=2),
    "nn.functional.layer_norm": lambda x: F.layer_norm(x, (8,)),
    "nn.functional.leaky_relu": F.leaky_relu,
    "nn.functional.linear": lambda x: F.linear(x, _weight(5, 8), _weight(5)),
    "nn.functional.max_pool2d": lambda x: F.max_pool2d(x, 2),
    "nn.functional.pad": lambda x: F.pad(x, (1, 2, 3, 0)),
    "nn.functional.pad (reflect)": lambda x: F.pad(x, (1, 1, 1, 1), "reflect"),
    "nn.functional.pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "nn.functional.relu": F.relu,
    "nn.functional.rms_norm": lambda x: F.rms_norm(x, (8,)),
    "nn.functional.scaled_dot_product_attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "nn.functional.silu": F.silu,
    "nn.functional.softplus": F.softplus,
    "nonzero": torch.nonzero,
    "permute": lambda x: x.permute(0, 2, 3, 1),
    "pow": lambda x: torch.pow(x.abs() + 0.1, 1.5),
    "prod": lambda x: torch.prod(x, 1),
    "repeat": lambda x: x.repeat(1, 2, 1, 3),
    "reshape": lambda x: x.reshape(4, 64),
    "roll": lambda x: torch.roll(x, 3, 2),
    "round": torch.round,
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 0.1),
    "scatter_add": lambda x: torch.scatter_add(x, 1, torch.tensor([[[[0, 3]]]]), x),
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "sin": torch.sin,
    "slice": lambda x: x[:, :, 1:7:2],
    "softmax": lambda x: torch.softmax(x, 1),
    "sort": lambda x: torch.sort(x, 3)[0],
    "split": lambda x: torch.split(x, [1, 3], 1),
    "sqrt": lambda x: torch.sqrt(x.abs()),
    "stack": lambda x: torch.stack([x, x * 2], 1),
    "std": lambda x: torch.std(x, (2, 3)),
    "sub": lambda x: x - x.flip(2),
    "sum": lambda x: torch.sum(x, 1),
    "tanh": torch.tanh,
    "topk": lambda x: torch.topk(x, 3, 3),
    "transpose": lambda x: x.transpose(1, 3),
    "tril": torch.tril,
    "unsqueeze": lambda x: x.unsqueeze(0),
    "var": lambda x: torch.var(x, (2, 3)),
    "where": lambda x: torch.where(x > 0, x, x * 2),
}


def cases() -> Iterator[OpCase]:
    """Yields every op once."""
    for op, function in _OPS.items():
        yield OpCase(op, "f32", functools.partial(_load, function))


class _Op(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self._function(x)


def _load(function: Callable[[torch.Tensor], Any], out: Path) -> ImportedModel:
    x = torch.randn(_IMAGE, generator=torch.Generator().manual_seed(0))
    results = torch.utils._pytree.tree_leaves(function(x))
    model = spec.ModelSpec(
        module=_Op(function),
        cases=((x.numpy(),),),
        tolerance=tuple(
            spec.Tolerance(1e-4, 1e-4) if result.is_floating_point() else spec.Exact()
            for result in results
        ),
    )
    return frontend.import_spec(model, f"{__file__}:cases", ImportOptions(), out)
