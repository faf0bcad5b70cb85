"""Tensors of GGUF files as PyTorch's: quantized ones stay packed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from bmc.frontends import packed_linear
from bmc.frontends.packed_linear import Packed

_HALF = 2  # bytes of a scale


def packed(format_name: str, stored: npt.NDArray[np.uint8], rows: int) -> Packed:
    """Takes blocks apart: a block is its scale, least value, fifth bits and codes, of those that the format has.

    Args:
      format_name: a key of packed_linear.FORMATS.
      stored: the tensor's bytes, row after row.
      rows: how many rows these are.
    """
    form = packed_linear.FORMATS[format_name]
    sizes = (_HALF, _HALF * form.has_mins, form.high_bytes, form.code_bytes)
    blocks = stored.reshape(rows, -1, sum(sizes))
    ends = np.cumsum(sizes)
    scales, mins, highs, codes = (
        np.ascontiguousarray(blocks[:, :, end - size : end])
        for end, size in zip(ends, sizes, strict=True)
    )

    def halves(each: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(each.view(np.float16)[:, :, 0])

    return Packed(
        format_name,
        torch.from_numpy(codes.view(np.int8) if format_name == "q8_0" else codes),
        halves(scales),
        halves(mins) if form.has_mins else None,
        torch.from_numpy(highs) if form.high_bytes else None,
    )
