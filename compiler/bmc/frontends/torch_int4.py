"""Gives the linear layers and embeddings of a PyTorch module weights of four bits, without calibration."""

from __future__ import annotations

import copy

import torch

from bmc.errors import BmcError
from bmc.frontends.packed_linear import BLOCK, Packed, PackedEmbedding, PackedLinear

_MOST = 15
# How much of the range of a block is left out at its ends, and how often scales and minima are fitted.
_LEFT_OUT = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.13)
_FITS = 2
# Layers with fewer outputs stay as they are: they have few weights, and classes should not be mixed up.
_FEWEST_ROWS = 32


def packed(module: torch.nn.Module, rounds: bool) -> torch.nn.Module:
    """Returns a copy of a module whose layers have packed weights (packed_linear.py).

    Args:
      module: it stays as it is.
      rounds: whether inputs of linear layers are rounded to bytes.

    Raises:
      BmcError: no layer can have such weights.
    """
    module = copy.deepcopy(module)
    tables: dict[int, Packed] = {}
    found = 0
    for owner in list(module.modules()):
        for name, layer in list(owner.named_children()):
            made = _made(layer, tables, rounds)
            if made is not None:
                setattr(owner, name, made)
                found += 1
    if not found:
        raise BmcError(
            "quantize-rejected",
            f"no layer of the model can have weights of 4 bits: torch.nn.Linear with {_FEWEST_ROWS} outputs and a"
            f" multiple of {BLOCK} inputs, torch.nn.Embedding with as wide rows",
            hint="import it without quantize",
        )
    return module


def _made(
    layer: torch.nn.Module, tables: dict[int, Packed], rounds: bool
) -> torch.nn.Module | None:
    """Returns the layer that takes the place of another one, None if that stays."""
    # A class that inherits from these may do something else.
    if type(layer) not in (torch.nn.Linear, torch.nn.Embedding):
        return None
    weight = layer.weight
    if weight.dtype != torch.float32 or weight.shape[0] < _FEWEST_ROWS or weight.shape[1] % BLOCK:
        return None
    # Tied weights stay one table.
    key = weight.data_ptr()
    if key not in tables:
        tables[key] = quantized(weight.detach())
    if isinstance(layer, torch.nn.Embedding):
        return PackedEmbedding(tables[key]) if layer.max_norm is None else None
    bias = layer.bias
    made = PackedLinear(tables[key], None if bias is None else bias.detach())
    made.rounds = rounds
    return made


def quantized(weight: torch.Tensor) -> Packed:
    """Returns f32 [rows, columns] in blocks of 32 columns, with the scales and minima that are least off.

    From the least to the largest weight of a block, or a little less far, sixteen steps are a beginning; the scale and
    minimum that fit best to the codes of these steps are taken.
    """
    blocks = weight.unflatten(-1, (-1, BLOCK))
    least, most = blocks.amin(-1, keepdim=True), blocks.amax(-1, keepdim=True)
    found: tuple[torch.Tensor, ...] = ()
    for left_out in _LEFT_OUT:
        mins = least + (most - least) * left_out / 2
        scales = (most - least) * (1 - left_out) / _MOST
        for _ in range(_FITS):
            scales, mins = _fitted(blocks, _codes(blocks, scales, mins))
        codes = _codes(blocks, scales, mins)
        off = (codes * scales + mins - blocks).square().sum(-1, keepdim=True)
        better = (off, codes, scales, mins)
        if found:
            better = tuple(
                torch.where(off < found[0], new, old)
                for new, old in zip(better, found, strict=True)
            )
        found = better
    _, codes, scales, mins = found
    low, high = codes.to(torch.uint8).split(BLOCK // 2, -1)
    return Packed("q4_1", low | high << 4, scales[..., 0].half(), mins[..., 0].half())


def _codes(blocks: torch.Tensor, scales: torch.Tensor, mins: torch.Tensor) -> torch.Tensor:
    # Of equal weights, any code is right.
    steps = torch.where(scales == 0, 1.0, scales)
    return torch.round((blocks - mins) / steps).clamp(0, _MOST)


def _fitted(blocks: torch.Tensor, codes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the scales and minima with the least squares for codes, as f16 holds them."""
    mean_code, mean = codes.mean(-1, keepdim=True), blocks.mean(-1, keepdim=True)
    apart = codes - mean_code
    squares = apart.square().sum(-1, keepdim=True).clamp(min=1e-9)
    scales = ((apart * (blocks - mean)).sum(-1, keepdim=True) / squares).half().float()
    return scales, (mean - scales * mean_code).half().float()
