"""Gives the linear layers and embeddings of a PyTorch module weights of four bits, without calibration."""

from __future__ import annotations

import copy

import torch

from bmc.errors import BmcError
from bmc.frontends.packed_linear import BLOCK, Packed, PackedEmbedding, PackedLinear

_MOST = 15
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
    """Returns f32 [rows, columns] in blocks of 32 columns, each from its least to its largest weight."""
    blocks = weight.unflatten(-1, (-1, BLOCK))
    least, most = blocks.amin(-1), blocks.amax(-1)
    mins = least.half()
    scales = ((most - mins.float()).clamp(min=0) / _MOST).half()
    # Of equal weights, any code is right.
    steps = torch.where(scales == 0, 1.0, scales.float())
    codes = torch.round((blocks - mins.float().unsqueeze(-1)) / steps.unsqueeze(-1))
    codes = codes.clamp(0, _MOST).to(torch.uint8)
    half = BLOCK // 2
    return Packed("q4_1", codes[..., :half] | codes[..., half:] << 4, scales, mins)
