"""Factors small matrices of PyTorch by reflections, as LAPACK does; torch-mlir has nothing for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bmc.frontends import torch_linear


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op; larger matrices stay, and are refused by name."""
    import torch

    aten = torch.ops.aten
    return {
        aten.linalg_qr.default: _qr,
        aten.geqrf.default: _geqrf,
        aten.ormqr.default: _ormqr,
        aten.linalg_householder_product.default: _householder_product,
    }


def _reflected(x: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """Reflects the columns one after the other, with LAPACK's signs.

    Returns the upper triangle, and the reflectors with their weights.
    """
    import torch

    rows, columns = x.shape[-2:]
    reflectors = []
    for k in range(min(rows - 1, columns)):
        column = x[..., k:, k]
        first = column[..., :1]
        size = column.square().sum(-1, keepdim=True).sqrt()
        length = torch.where(first < 0, size, -size)
        is_done = (column[..., 1:] == 0).all(-1, keepdim=True)
        scale = torch.where(is_done, 1.0, first - length)
        reflector = torch.cat([torch.ones_like(first), column[..., 1:] / scale], -1)
        reflector = torch.nn.functional.pad(reflector, (k, 0)).unsqueeze(-1)
        weight = torch.where(is_done, 0.0, (length - first) / torch.where(is_done, 1.0, length))
        x = x - weight.unsqueeze(-1) * reflector @ (reflector.mT @ x)
        reflectors.append((reflector, weight))
    return x.triu(), reflectors


def _qr(x: Any, mode: str = "reduced") -> Any:
    if not torch_linear.fits(x):
        return NotImplemented
    rows, columns = x.shape[-2:]
    upper, reflectors = _reflected(x)
    whole = torch_linear.identity(x)
    for reflector, weight in reflectors:
        whole = whole - (whole @ reflector) @ (weight.unsqueeze(-1) * reflector).mT
    least = min(rows, columns)
    if mode == "complete":
        return whole, upper
    upper = upper[..., :least, :]
    return (whole.new_zeros(0) if mode == "r" else whole[..., :least]), upper


def _geqrf(x: Any) -> Any:
    """Returns the triangle with the reflectors below it, and their weights, as LAPACK has them."""
    import torch

    if not torch_linear.fits(x):
        return NotImplemented
    least = min(x.shape[-2:])
    packed, reflectors = _reflected(x)
    weights = [weight for _, weight in reflectors]
    weights += [torch.zeros_like(x[..., 0, :1])] * (least - len(weights))
    for k, (reflector, _) in enumerate(reflectors):
        below = torch.nn.functional.pad(
            reflector[..., k + 1 :, :], (k, x.shape[-1] - k - 1, k + 1, 0)
        )
        packed = packed + below
    return packed, torch.cat(weights, -1)


def _unpacked(packed: Any, weights: Any) -> list[tuple[Any, Any]]:
    """Returns the reflectors of LAPACK's form, with their weights as matrices."""
    import torch

    found = []
    for k in range(weights.shape[-1]):
        reflector = torch.cat([torch.ones_like(packed[..., :1, k]), packed[..., k + 1 :, k]], -1)
        reflector = torch.nn.functional.pad(reflector, (k, 0)).unsqueeze(-1)
        found.append((reflector, weights[..., k, None, None]))
    return found


def _householder_product(packed: Any, weights: Any) -> Any:
    if not torch_linear.fits(packed):
        return NotImplemented
    whole = torch_linear.identity(packed)
    for reflector, weight in _unpacked(packed, weights):
        whole = whole - (whole @ reflector) @ (weight * reflector).mT
    return whole[..., : packed.shape[-1]]


def _ormqr(packed: Any, weights: Any, x: Any, left: bool = True, transpose: bool = False) -> Any:
    if not torch_linear.fits(packed):
        return NotImplemented
    if not left:
        return _ormqr(packed, weights, x.mT, True, not transpose).mT
    reflectors = _unpacked(packed, weights)
    for reflector, weight in reflectors if transpose else reversed(reflectors):
        x = x - weight * reflector @ (reflector.mT @ x)
    return x
