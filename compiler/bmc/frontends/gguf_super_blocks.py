"""GGML's blocks of 256 weights, whose parts have scales that are quantized themselves: Q4_K, Q5_K and Q6_K.

Each part becomes a block of packed_linear with a scale, and a least value, of its own. That loses nothing, because
these are f32: a product of a scale of the whole block in f16 and a part's integer. It takes more bytes than the file:
6 bits a weight instead of 4.5 of Q4_K, 7 instead of 5.5 of Q5_K, and 10 instead of 6.6 of Q6_K.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from gguf import quants
from gguf.constants import GGMLQuantizationType

from bmc.frontends.packed_linear import Packed

_Bytes = npt.NDArray[np.uint8]
_ONE = np.array([1], np.float16).view(np.uint8)
# Scales 1 and least values 0 of the 8 parts of a block, in 6 bits each.
_PARTS = np.array([1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1], np.uint8)
_Q4_K, _Q5_K, _Q6_K = (
    GGMLQuantizationType.Q4_K,
    GGMLQuantizationType.Q5_K,
    GGMLQuantizationType.Q6_K,
)
KINDS = (_Q4_K, _Q5_K, _Q6_K)


def packed(kind: GGMLQuantizationType, stored: _Bytes, rows: int) -> Packed:
    """Returns the weights of a tensor.

    Args:
      kind: one of KINDS.
      stored: the tensor's bytes, row after row.
      rows: how many rows these are.
    """
    size = {_Q4_K: 144, _Q5_K: 176, _Q6_K: 210}[kind]
    blocks = stored.reshape(-1, size)
    if kind is _Q6_K:
        return _of_sixteen(blocks, rows)
    scale, least = (
        np.ascontiguousarray(blocks[:, place : place + 2]).view(np.float16).astype(np.float32)
        for place in (0, 2)
    )
    factors, offsets = (
        each.astype(np.float32) for each in quants.Q4_K.get_scale_min(blocks[:, 4:16].copy())
    )
    weights = _codes(kind, blocks, {0: _ONE, 2: np.zeros(2, np.uint8), 4: _PARTS})
    codes = weights.reshape(rows, -1, 32).astype(np.uint8)
    halves = codes & 15
    highs = None
    if kind is _Q5_K:
        highs = torch.from_numpy(np.packbits(codes >> 4, axis=-1, bitorder="little"))
    return Packed(
        "q4_1" if highs is None else "q5_1",
        torch.from_numpy(halves[:, :, :16] | halves[:, :, 16:] << 4),
        torch.from_numpy((scale * factors).reshape(rows, -1)),
        torch.from_numpy((-(least * offsets)).reshape(rows, -1)),
        highs,
    )


def _of_sixteen(blocks: _Bytes, rows: int) -> Packed:
    """Returns weights of Q6_K as bytes in blocks of 16."""
    scale = np.ascontiguousarray(blocks[:, 208:]).view(np.float16).astype(np.float32)
    factors = blocks[:, 192:208].view(np.int8).astype(np.float32)
    codes = _codes(_Q6_K, blocks, {192: np.ones(16, np.uint8), 208: _ONE})
    return Packed(
        "q8_0",
        torch.from_numpy(codes.reshape(rows, -1, 16).astype(np.int8)),
        torch.from_numpy((scale * factors).reshape(rows, -1)),
    )


def _codes(
    kind: GGMLQuantizationType, blocks: _Bytes, fields: dict[int, _Bytes]
) -> npt.NDArray[np.float32]:
    """Returns the integers of blocks: what their weights would be with these bytes at these offsets."""
    plain = blocks.copy()
    for place, value in fields.items():
        plain[:, place : place + len(value)] = value
    found: npt.NDArray[np.float32] = quants.dequantize(plain.reshape(-1), kind)
    return found
