"""Computes max pools of long integers by comparisons: in three dimensions or with places, they crash torch-mlir.

IREE makes f32 of f64, which does not have all these numbers. Shorter integers become f32 (torch_substitutes.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from bmc.errors import BmcError

# Each element of a window is a few ops in the program.
_MOST_TAPS = 512


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op."""
    import torch

    aten = torch.ops.aten
    return {
        aten.max_pool1d_with_indices.default: _with_places,
        aten.max_pool2d_with_indices.default: _with_places,
        aten.max_pool3d_with_indices.default: _with_places,
        aten.max_pool3d.default: _without_places,
    }


def _without_places(x: Any, *options: Any) -> Any:
    found = _with_places(x, *options)
    return found if found is NotImplemented else found[0]


def _with_places(
    x: Any, kernel: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,), ceil_mode: bool = False,
) -> Any:  # fmt: skip
    import torch

    if x.dtype not in (torch.int32, torch.int64):
        return NotImplemented
    # Only the kernel has a number for each dimension.
    count = len(kernel)
    stride, padding, dilation = (
        list(each) * (count if len(each) == 1 else 1)
        for each in (stride or kernel, padding, dilation)
    )
    taps = list(itertools.product(*map(range, kernel)))
    if len(taps) > _MOST_TAPS:
        raise BmcError(
            "op-rejected",
            f"a max pool of integers has windows of {len(taps)} elements, which crashes torch-mlir",
            hint=f"pool floats, or windows of at most {_MOST_TAPS} elements",
        )
    sizes = x.shape[-count:]
    places = torch.arange(sizes.numel()).reshape(sizes)
    windows: list[int] = []
    ends: list[int] = []
    for size, taps_, step, before, apart in zip(
        sizes, kernel, stride, padding, dilation, strict=True
    ):
        reach = (taps_ - 1) * apart + 1
        room = size + 2 * before - reach
        number = (-(-room // step) if ceil_mode else room // step) + 1
        # A window begins in the tensor or before it.
        number -= (number - 1) * step >= size + before
        windows.append(number)
        ends = [before, max((number - 1) * step + reach - size - before, 0), *ends]
    pad = torch.nn.functional.pad
    x, places = pad(x, ends, value=torch.iinfo(x.dtype).min), pad(places, ends, value=-1)
    best: Any = None
    found: Any = None
    for tap in taps:
        part = (
            ...,
            *(
                slice(at * apart, at * apart + (number - 1) * step + 1, step)
                for at, apart, number, step in zip(tap, dilation, windows, stride, strict=True)
            ),
        )
        value, place = x[part], places[part].expand(x[part].shape)
        if best is None:
            best, found = value, place
            continue
        is_better = (value > best) | ((found < 0) & (place >= 0))
        best, found = torch.where(is_better, value, best), torch.where(is_better, place, found)
    return best, found
