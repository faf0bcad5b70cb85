"""Reductions of PyTorch over indices, segments, equal elements and windows that torch-mlir lacks or gets wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op."""
    import torch

    aten = torch.ops.aten
    return {
        aten.avg_pool3d.default: _avg_pool3d,
        aten.cumsum.default: _cumsum,
        aten.embedding_bag.padding_idx: _embedding_bag,
        aten.index_reduce.default: _index_reduce,
        aten.mode.default: _mode,
        aten.put.default: _put,
        aten.scatter.reduce: _scatter,
        aten.scatter.value_reduce: _scatter_value,
        aten.scatter_add.default: _scatter_add,
        aten.segment_reduce.default: _segment_reduce,
    }


def _avg_pool3d(
    x: Any,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Multiplies a mean, because torch-mlir leaves out the divisor."""
    import torch

    if not divisor_override or ceil_mode:
        return NotImplemented
    mean = torch.ops.aten.avg_pool3d(x, kernel, stride, padding)
    count = math.prod(kernel) if len(kernel) == 3 else kernel[0] ** 3
    return mean * (count / divisor_override)


def _cumsum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Adds in 64 bits, because torch-mlir crashes over narrower sums."""
    import torch

    if dtype is None or dtype.is_floating_point or dtype == torch.int64:
        return NotImplemented
    return x.to(torch.int64).cumsum(dim).to(dtype)


def _embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Adds rows that have weights, which torch-mlir leaves out; other results are of use for gradients alone."""
    import torch

    if per_sample_weights is None:
        return NotImplemented
    rows = weight[indices] * per_sample_weights.unsqueeze(1)
    places = torch.arange(len(indices))
    end = torch.full((1,), len(indices))
    first = offsets[:-1] if include_last_offset else offsets
    last = offsets[1:] if include_last_offset else torch.cat((offsets[1:], end.to(offsets.dtype)))
    inside = (places >= first.unsqueeze(1)) & (places < last.unsqueeze(1))
    if padding_idx is not None:
        inside = inside & (indices != padding_idx)
    total = torch.where(inside.unsqueeze(2), rows, 0).sum(1)
    none = indices.new_zeros(0)
    return total, none, none, none


def _put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    flat = x.reshape(-1)
    return flat.index_put((index.reshape(-1),), source.reshape(-1), accumulate).reshape(x.shape)


def _scatter(x: Any, dim: int, index: Any, source: Any, *, reduce: str) -> Any:
    places = tuple(slice(size) for size in index.shape)
    name = "sum" if reduce == "add" else "prod"
    return x.scatter_reduce(dim, index, source[places], name)


def _scatter_value(x: Any, dim: int, index: Any, value: Any, *, reduce: str) -> Any:
    import torch

    source = torch.full_like(index, value, dtype=x.dtype)
    return _scatter(x, dim, index, source, reduce=reduce)


def _scatter_add(x: Any, dim: int, index: Any, source: Any) -> Any:
    """Adds truth values as numbers, so that two do not cancel each other."""
    import torch

    if x.dtype != torch.bool:
        return NotImplemented
    return x.to(torch.int32).scatter_add(dim, index, source.to(torch.int32)) != 0


def _index_reduce(
    x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    if not x.ndim:
        flat, source = x.reshape(1), source.reshape(-1)
        return _index_reduce(flat, 0, index, source, reduce, include_self=include_self).reshape([])
    places = index.reshape(-1, *[1] * (x.ndim - dim % x.ndim - 1)).expand(source.shape)
    if reduce == "mean":
        return _mean(x, dim, places, source, include_self)
    return x.scatter_reduce(dim, places, source, reduce, include_self=include_self)


def _mean(x: Any, dim: int, index: Any, source: Any, include_self: bool) -> Any:
    """Returns averages, of integers the next integers below them."""
    import torch

    one = torch.ones_like(source)
    counts = torch.ones_like(x) if include_self else torch.zeros_like(x)
    counts = counts.scatter_add(dim, index, one)
    start = x if include_self else torch.where(counts == 0, x, 0)
    total = start.scatter_add(dim, index, source)
    counts = torch.where(counts == 0, 1, counts)
    if x.dtype.is_floating_point:
        return total / counts
    return torch.div(total, counts, rounding_mode="floor")


def _mode(x: Any, dim: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    """Returns the most frequent element, the least one of several, and where the last of these is."""
    import torch

    if not x.ndim:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    x = x.movedim(dim, -1)
    counts = (x.unsqueeze(-1) == x.unsqueeze(-2)).sum(-1)
    is_mode = counts == counts.amax(-1, keepdim=True)
    most = math.inf if x.is_floating_point() else torch.iinfo(x.dtype).max
    value = torch.where(is_mode, x, most).amin(-1, keepdim=True)
    place = torch.where(x == value, torch.arange(x.shape[-1]), 0).amax(-1, keepdim=True)
    value, place = value.movedim(-1, dim), place.movedim(-1, dim)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


def _segment_reduce(
    x: Any, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None,
    axis: int = 0, unsafe: bool = False, initial: float | None = None,
) -> Any:  # fmt: skip
    """Reduces all elements for each segment, with a neutral number where they are of another one."""
    import torch

    if lengths is not None:
        ends = lengths.cumsum(-1)
        starts = ends - lengths
    else:
        starts, ends = offsets[..., :-1], offsets[..., 1:]
    place = torch.arange(x.shape[axis])
    is_within = (place >= starts.unsqueeze(-1)) & (place < ends.unsqueeze(-1))
    is_within = is_within.reshape(*is_within.shape, *[1] * (x.ndim - axis - 1))
    neutral = {"max": -math.inf, "min": math.inf, "prod": 1.0}.get(reduce, 0.0)
    start = neutral if initial is None else initial
    parts = torch.where(is_within, x.unsqueeze(axis), neutral)
    if reduce in ("max", "min"):
        found = parts.amax(axis + 1) if reduce == "max" else parts.amin(axis + 1)
        return found.clamp(min=start) if reduce == "max" else found.clamp(max=start)
    if reduce == "prod":
        return parts.prod(axis + 1) * start
    total = parts.sum(axis + 1) + start
    if reduce == "sum":
        return total
    counts = is_within.sum(axis + 1)
    empty = math.nan if initial is None else initial
    return torch.where(counts == 0, empty, total / counts.clamp(min=1))
