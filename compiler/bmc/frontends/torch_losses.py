"""Losses of PyTorch that it computes in parts to save memory, at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op."""
    import torch
    import torch.nn.modules.linear_cross_entropy  # Registers these ops.

    ops = torch.ops.torch_nn
    return {
        ops._linear_cross_entropy_batch_chunked.default: _linear_cross_entropy,
        ops._linear_cross_entropy_batch_chunked_no_reduction.default: _losses,
    }


def _linear_cross_entropy(
    x: Any, matrix: Any, target: Any, bias: Any, weight: Any, reduction: str, ignored: int, *_: Any
) -> tuple[Any, ...]:
    """Returns the loss; its gradients, which come with it, are of no use here."""
    none = x.new_zeros(0)
    return _loss(x, matrix, target, bias, weight, reduction, ignored), none, none, none


def _losses(x: Any, matrix: Any, target: Any, bias: Any, weight: Any, ignored: int, *_: Any) -> Any:
    return _loss(x, matrix, target, bias, weight, "none", ignored)


def _loss(
    x: Any, matrix: Any, target: Any, bias: Any, weight: Any, reduction: str, ignored: int
) -> Any:
    import torch

    dtype = x.dtype
    wide = torch.promote_types(dtype, torch.float32)
    x, matrix, bias, weight = (
        each if each is None else each.to(wide) for each in (x, matrix, bias, weight)
    )
    logits = torch.nn.functional.linear(x, matrix, bias)
    loss = torch.nn.functional.cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction
    )
    return loss.to(dtype)
