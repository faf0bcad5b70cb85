"""Resizes images of PyTorch with filters that become wider as an image becomes smaller, which torch-mlir lacks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

# Of Keys' cubic filter.
_CUBIC = -0.5


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op."""
    import torch

    aten = torch.ops.aten
    return {
        aten._upsample_bilinear2d_aa.default: functools.partial(_resized, _linear),
        aten._upsample_bicubic2d_aa.default: functools.partial(_resized, _cubic),
    }


def _linear(x: Any) -> Any:
    return (1 - x.abs()).clamp(min=0)


def _cubic(x: Any) -> Any:
    import torch

    x = x.abs()
    near = ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * _CUBIC
    return torch.where(x < 1, near, torch.where(x < 2, far, 0.0))


def _resized(
    kernel: Callable[[Any], Any],
    x: Any, size: Sequence[int], align_corners: bool,
    scales_h: float | None = None, scales_w: float | None = None,
) -> Any:  # fmt: skip
    """Multiplies an image with the weights of rows and columns."""
    import torch

    if not x.dtype.is_floating_point:
        return NotImplemented  # PyTorch has integer weights for bytes.
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    rows, columns = (
        _weights(kernel, old, new, align_corners, scale, wide.dtype)
        for old, new, scale in zip(x.shape[-2:], size, (scales_h, scales_w), strict=True)
    )
    return (rows @ (wide @ columns.mT)).to(x.dtype)


def _weights(
    kernel: Callable[[Any], Any], old: int, new: int, align_corners: bool, scale: float | None,
    dtype: Any,
) -> Any:  # fmt: skip
    import torch

    step = 1 / scale if scale else old / new
    if align_corners:
        step = (old - 1) / max(new - 1, 1)
    center = (torch.arange(new, dtype=dtype) + 0.5) * step
    distance = torch.arange(old, dtype=dtype) + 0.5 - center.unsqueeze(-1)
    weights = kernel(distance / max(step, 1.0))
    return weights / weights.sum(-1, keepdim=True)
