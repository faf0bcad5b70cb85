"""Estimates what a model takes on its target, from what it computes and from figures measured on the models of the zoo.

The coefficients are fitted to models/baseline.txt, at VLEN 256. docs/how-to/check.md says how far off they are there.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from bmc.artifacts import ImportedModel, Parameter
from bmc.check.work import Work
from bmc.target import Target

# Instructions for each unit of Work.counts and each dispatch, with vectors of 256 bits.
_VECTORS = {
    "dense_f": 0.041,
    "dense_i": 0.046,
    "vector_f": 0.063,
    "vector_i": 0.07,
    "dot_f": 0.16,
    "dot_i": 0.07,
    "depthwise_f": 0.01,
    "depthwise_i": 0.01,
    "results": 0.37,
    "elements": 0.28,
}
_VLEN = 256
_DISPATCH = 240
# Without vectors, for each multiply-accumulate with all that follows: models/mlp on rv64gc and rv32imac, and the int8
# models on VexRiscv in docs/how-to/cpu-designs.md.
_SCALAR_FLOAT = 4.3
_SCALAR_INTEGER = 3.6
_CALLED_FLOAT = 160.0
# Bytes of flash besides the weights: the runtime and board, and each kernel with its tables.
_RUNTIME_BYTES = 26_000
# What f16 takes of the bytes of f32, and of its instructions (ds_cnn and resnet8).
_HALF, _HALF_FASTER = 0.5, 0.82
_FLOAT_KERNEL_BYTES = 900
_INT8_KERNEL_BYTES = 1_700


@dataclass(frozen=True)
class Estimate:
    """What a model takes, about: bytes, and instructions of one inference."""

    weight_bytes: int
    flash_bytes: int
    arena_bytes: int
    instructions: int


def of(model: ImportedModel, work: Work, target: Target) -> Estimate:
    """Returns the estimate for an imported model that computes `work`."""
    weights = work.weight_bytes
    # IREE's constants also have what follows from others, at most each once more. The parameters that the import knows
    # can lack those of branches.
    parameters = sum(map(_parameter_bytes, model.parameters))
    if weights / 2 <= parameters < weights:
        weights = parameters
    share = _HALF if model.f16 else 1.0
    kernel = _INT8_KERNEL_BYTES if model.int8 else _FLOAT_KERNEL_BYTES
    widened = work.widened_bytes if target.vlen_bits else 0
    return Estimate(
        weight_bytes=weights,
        flash_bytes=round(weights * share) + widened + _RUNTIME_BYTES + kernel * work.kernels,
        arena_bytes=round(work.arena_bytes * share),
        instructions=round(_instructions(work, target) * (_HALF_FASTER if model.f16 else 1.0)),
    )


def _parameter_bytes(parameter: Parameter) -> int:
    bits = re.search(r"\d+", parameter.dtype)  # bool has none
    return math.prod(parameter.shape) * max(1, int(bits[0] if bits else 8) // 8)


def _instructions(work: Work, target: Target) -> float:
    if target.vlen_bits:
        share = _VLEN / target.vlen_bits
        inside = sum(_VECTORS[kind] * count for kind, count in work.counts.items())
        return inside * share + _DISPATCH * work.dispatches
    floats = _CALLED_FLOAT if target.soft_float else _SCALAR_FLOAT
    products = sum(
        count * (floats if kind.endswith("_f") else _SCALAR_INTEGER)
        for kind, count in work.counts.items()
        if kind.endswith(("_f", "_i"))
    )
    return products + _DISPATCH * work.dispatches
