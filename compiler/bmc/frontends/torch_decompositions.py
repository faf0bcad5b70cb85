"""Decompositions of PyTorch's ops into ops that torch-mlir lowers: torch-mlir's own table and more.

Each is PyTorch code, so that ops in the middle of others are found too. torch_special.py has special functions,
torch_complex.py complex numbers, torch_fourier.py transforms, torch_linear.py and torch_reflections.py factors of
matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from bmc.frontends import (
    torch_complex,
    torch_fourier,
    torch_integer_pools,
    torch_linear,
    torch_losses,
    torch_reductions,
    torch_reflections,
    torch_resizes,
    torch_special,
)

# Steps of Euclid's algorithm with the worst numbers of so many bits, which are neighbors in Fibonacci's series.
_EUCLID = {8: 12, 16: 24, 32: 47, 64: 93}


def table() -> dict[Any, Callable[..., Any]]:
    """Returns what torch.export's programs are decomposed with."""
    import torch
    from torch._decomp import get_decompositions
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    aten = torch.ops.aten
    own = get_decompositions(
        [
            *(aten.addmv, aten.all.dims, aten.any.dims, aten.as_strided_copy),
            *(aten.fft_fftshift, aten.fft_ifftshift, aten.permute_copy, aten.tril_indices),
            *(aten.triu_indices, aten.unbind_copy, aten.view_copy),
        ]
    )
    return {
        **get_decomposition_table(),
        **own,
        aten.addbmm.default: _addbmm,
        aten.angle.default: _angle,
        aten.as_strided.default: _as_strided,
        aten.as_strided_scatter.default: _as_strided_scatter,
        aten.block_diag.default: _block_diag,
        aten._cdist_forward.default: _cdist,
        aten.cummax.default: _cummax,
        aten.cummin.default: _cummin,
        aten.diagonal_scatter.default: _diagonal_scatter,
        aten.dist.default: _dist,
        aten.fmax.default: _fmax,
        aten.fmin.default: _fmin,
        aten.frexp.Tensor: _frexp,
        aten.gcd.default: _gcd,
        aten.gather.default: _gather,
        aten.histc.default: _histc,
        aten.hypot.default: _hypot,
        aten.isclose.default: _isclose,
        aten.isfinite.default: _isfinite,
        aten.lcm.default: _lcm,
        aten.linalg_norm.default: _norm,
        aten.linalg_norm.ord_str: _norm,
        aten.nanmedian.default: lambda x: _nanmedian(x.reshape(-1), 0)[0],
        aten.nanmedian.dim: _nanmedian,
        aten.nextafter.default: _nextafter,
        aten.searchsorted.Tensor: _searchsorted,
        aten.searchsorted.Scalar: _searchsorted,
        **torch_complex.table(),
        **torch_special.table(),
        **torch_fourier.table(),
        **torch_integer_pools.table(),
        **torch_linear.table(),
        **torch_losses.table(),
        **torch_reductions.table(),
        **torch_reflections.table(),
        **torch_resizes.table(),
    }


def _addbmm(x: Any, first: Any, second: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    import torch

    if not x.dtype.is_floating_point:
        beta, alpha = int(beta), int(alpha)
    kept = beta * x if beta else torch.zeros_like(x)
    return kept + alpha * torch.bmm(first, second).sum(0, dtype=x.dtype)


def _as_strided_scatter(
    x: Any,
    source: Any,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    import torch

    place = torch.full([], storage_offset or 0)
    for extent, step in zip(size, stride, strict=True):
        place = place.unsqueeze(-1) + torch.arange(extent) * step
    flat = x.reshape(-1).scatter(0, place.reshape(-1), source.reshape(-1))
    return flat.reshape(x.shape)


def _angle(x: Any) -> Any:
    """Returns pi for negative real numbers."""
    import torch

    if x.is_complex():
        return torch.atan2(x.imag, x.real)
    wide = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    found = torch.where(wide < 0, math.pi, 0.0).to(wide.dtype)
    return torch.where(wide.isnan(), wide, found)


def _block_diag(tensors: list[Any]) -> Any:
    import torch

    blocks = [torch.atleast_2d(each) for each in tensors]
    columns = sum(block.shape[1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        after = columns - before - block.shape[1]
        rows.append(torch.nn.functional.pad(block, (before, after)))
        before += block.shape[1]
    return torch.cat(rows)


def _cdist(x: Any, y: Any, p: float, _mode: int | None) -> Any:
    distances = (x.unsqueeze(-2) - y.unsqueeze(-3)).abs()
    if p == 0:
        return (distances != 0).to(x.dtype).sum(-1)
    if p == 1:
        return distances.sum(-1)
    if p == 2:
        return (distances * distances).sum(-1).sqrt()
    if math.isinf(p):
        return distances.amax(-1)
    return (distances**p).sum(-1) ** (1 / p)


def _diagonal_scatter(x: Any, source: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    import torch

    moved = x.movedim((dim1, dim2), (-2, -1))
    rows, columns = moved.shape[-2:]
    is_there = torch.arange(columns) == torch.arange(rows).unsqueeze(-1) + offset
    # Each row has an element of the source in it, or each column if the diagonal begins below the first row.
    size = rows if offset >= 0 else columns
    source = torch.nn.functional.pad(source, (0, max(size - source.shape[-1], 0)))[..., :size]
    wide = source.unsqueeze(-1 if offset >= 0 else -2)
    return torch.where(is_there, wide, moved).movedim((-2, -1), (dim1, dim2))


def _dist(x: Any, y: Any, p: float = 2.0) -> Any:
    import torch

    x, y = (each.reshape(1, -1) for each in torch.broadcast_tensors(x, y))
    return _cdist(x, y, p, None).reshape([])


def _cummax(x: Any, dim: int) -> tuple[Any, Any]:
    import torch

    return _running(x, dim, torch.maximum)


def _cummin(x: Any, dim: int) -> tuple[Any, Any]:
    import torch

    return _running(x, dim, torch.minimum)


def _running(x: Any, dim: int, choose: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Returns the largest or least of each element and those before it, and where the last of these is."""
    import torch

    if not x.ndim:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    wide = x.to(
        torch.promote_types(x.dtype, torch.float32 if x.is_floating_point() else torch.int64)
    )
    values = _scan(wide, dim, choose)
    numbers = torch.arange(x.shape[dim]).reshape(-1, *[1] * (x.ndim - dim % x.ndim - 1))
    places = torch.where((wide == values) | wide.isnan(), numbers, 0)
    return values.to(x.dtype), _scan(places, dim, torch.maximum)


def _scan(x: Any, dim: int, choose: Callable[[Any, Any], Any]) -> Any:
    """Returns what is chosen of each element and those before it, twice as many of them in each step."""
    import torch

    size, step = x.shape[dim], 1
    while step < size:
        chosen = choose(x.narrow(dim, step, size - step), x.narrow(dim, 0, size - step))
        x = torch.cat([x.narrow(dim, 0, step), chosen], dim)
        step *= 2
    return x


def _fmax(x: Any, y: Any) -> Any:
    import torch

    return _number_of(x, y, torch.maximum)


def _fmin(x: Any, y: Any) -> Any:
    import torch

    return _number_of(x, y, torch.minimum)


def _number_of(x: Any, y: Any, choose: Callable[[Any, Any], Any]) -> Any:
    """Chooses one of two numbers, or the one that is a number."""
    import torch

    dtype = torch.result_type(x, y)
    x, y = torch.broadcast_tensors(x.to(dtype), y.to(dtype))
    if not dtype.is_floating_point:
        return choose(x, y)
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, choose(x, y)))


def _bits(x: Any) -> tuple[Any, Any, Any]:
    """Returns a tensor of floats as integers, their type, and the number of bits of a mantissa."""
    import torch

    kinds = {
        torch.float16: (torch.int16, 10),
        torch.bfloat16: (torch.int16, 7),
        torch.float32: (torch.int32, 23),
        torch.float64: (torch.int64, 52),
    }
    kind, width = kinds[x.dtype]
    return x.view(kind), kind, width


def _frexp(x: Any) -> tuple[Any, Any]:
    """Returns mantissas in [0.5, 1), and exponents."""
    import torch

    if x.dtype in (torch.float16, torch.bfloat16):
        mantissa, exponent = _frexp(x.to(torch.float32))
        return mantissa.to(x.dtype), exponent
    _, kind, width = _bits(x)
    # A subnormal number gets an exponent by a product.
    is_small = x.abs() < torch.finfo(x.dtype).smallest_normal
    bits, _, _ = _bits(torch.where(is_small, x * 2.0 ** (width + 1), x))
    most = (1 << (kind.itemsize * 8 - width - 1)) - 1
    bias = most // 2 - 1
    exponent = (bits >> torch.full_like(bits, width) & most) - bias
    mantissa = ((bits & ~(most << width)) + (bias << width)).view(x.dtype)
    exponent = torch.where(is_small, exponent - (width + 1), exponent)
    is_same = (x == 0) | ~x.isfinite()
    return (
        torch.where(is_same, x, mantissa),
        torch.where(is_same, 0, exponent).to(torch.int32),
    )


def _nextafter(x: Any, y: Any) -> Any:
    import torch

    x, y = torch.broadcast_tensors(x, y)
    bits, kind, _ = _bits(x)
    least = torch.ones_like(bits).view(x.dtype)
    away = (y > x) == (x > 0)
    moved = torch.where(away, bits + 1, bits - 1).view(x.dtype)
    moved = torch.where(x == 0, torch.copysign(least, y), moved)
    moved = torch.where(x == y, y, moved)
    return torch.where(x.isnan() | y.isnan(), math.nan, moved)


def _gcd(x: Any, y: Any) -> Any:
    import torch

    dtype = torch.result_type(x, y)
    x, y = torch.broadcast_tensors(x.to(dtype).abs(), y.to(dtype).abs())
    for _ in range(_EUCLID[dtype.itemsize * 8]):
        is_done = y == 0
        rest = torch.fmod(x, torch.where(is_done, 1, y))
        x, y = torch.where(is_done, x, y), torch.where(is_done, 0, rest)
    return x


def _as_strided(
    x: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """Reads a single number, over which torch-mlir crashes."""
    if x.ndim and size:
        return NotImplemented
    return x.reshape(-1)[storage_offset or 0].expand(size)


def _hypot(x: Any, y: Any) -> Any:
    import torch

    wide = torch.promote_types(x.dtype, torch.float32)
    return torch_complex.magnitude(x.to(wide), y.to(wide)).to(x.dtype)


def _gather(x: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """Reads elements of a tensor without dimensions as of one with a dimension."""
    import torch

    if x.ndim:
        return NotImplemented
    return torch.broadcast_to(x, index.shape).clone()


def _isfinite(x: Any) -> Any:
    import torch

    if not x.is_floating_point():
        return torch.ones_like(x, dtype=torch.bool)
    return x.abs() < math.inf


def _isclose(
    x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    import torch

    is_close = x == y
    if rtol == atol == 0:
        return is_close  # Large integers differ by less than f32 shows.
    if not x.dtype.is_floating_point:
        x, y = x.to(torch.float32), y.to(torch.float32)
    elif equal_nan:
        is_close = is_close | (x.isnan() & y.isnan())
    distance = (x - y).abs()
    return is_close | (distance.isfinite() & (distance <= atol + (rtol * y).abs()))


def _nanmedian(x: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
    """Returns the lower one of two medians of the numbers, and where it is; NaNs come last in a sorted tensor."""
    import torch

    if not x.ndim:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    values, places = torch.sort(x, stable=True, dim=dim)
    middle = ((~x.isnan()).sum(dim, keepdim=True) - 1).clamp(min=0) // 2
    found, place = values.gather(dim, middle), places.gather(dim, middle)
    return (found, place) if keepdim else (found.squeeze(dim), place.squeeze(dim))


def _lcm(x: Any, y: Any) -> Any:
    import torch

    divisor = _gcd(x, y)
    is_zero = divisor == 0
    quotient = torch.div(x, torch.where(is_zero, 1, divisor), rounding_mode="trunc")
    return torch.where(is_zero, 0, (quotient * y).abs())


def _norm(
    x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    import torch._refs.linalg

    return torch._refs.linalg.norm(x, ord, dim, keepdim, dtype=dtype)


def _histc(x: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
    import torch

    x = x.reshape(-1)
    low, high = torch.full_like(x[:1], min), torch.full_like(x[:1], max)
    if min == max:
        low, high = x.amin(0, keepdim=True), x.amax(0, keepdim=True)
        is_flat = low == high
        low, high = torch.where(is_flat, low - 1, low), torch.where(is_flat, high + 1, high)
    place = ((x - low) * bins / (high - low)).floor()
    place = torch.where(x == high, float(bins - 1), place)
    place = torch.where((x < low) | (x > high), -1.0, place)
    return (place.unsqueeze(0) == torch.arange(bins).unsqueeze(1)).sum(1).to(x.dtype)


def _searchsorted(
    ordered: Any, x: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Any:  # fmt: skip
    """Counts the elements before each number, where PyTorch halves the range in steps that depend on data."""
    import torch

    if sorter is not None:
        ordered = torch.gather(ordered, -1, sorter)
    if not isinstance(x, torch.Tensor):
        x = torch.full((), x, dtype=ordered.dtype)
    numbers = x.unsqueeze(-1)
    ordered = ordered.unsqueeze(-2) if ordered.ndim > 1 else ordered
    is_after = ordered > numbers if right or side == "right" else ordered >= numbers
    return (~is_after).sum(-1).to(torch.int32 if out_int32 else torch.int64)
