"""Made-up inputs: for models that come without any, and more of them for quantized models.

All are seeded, so a model gets the same inputs on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bmc import intake, spec
from bmc.artifacts import ImportedModel, TensorInfo
from bmc.dtype import Array, DType
from bmc.errors import BmcError

# Number of cases for a model without any of its own.
COUNT = 5
# Limits for the cases in firmware: test data takes flash, and an emulator computes every case.
_CARRIED = 4
_CARRIED_BYTES = 64 * 1024
# A single absolute tolerance must suit all cases, see sensible().
_LARGEST_RATIO = 16.0


def case(
    inputs: Sequence[TensorInfo], index: int = 0, zero_points: Sequence[int | None] = ()
) -> spec.Case:
    """Returns case number `index`, one array per input.

    Floats are N(0, 1), 10 * N(0, 1), zeros, ones, 0.01 * N(0, 1), and from then on N(0, 1).
    Quantized integers are values of the whole range, all values in turn, both ends at random, values
    around the zero point, or a single value. Other integers are 0 and 1, which are valid indices for
    nearly everything.

    Args:
      inputs: the model's inputs.
      index: number of the case, from 0.
      zero_points: the zero point of each quantized input, None for other inputs; () if none is quantized.

    Raises:
      BmcError: an input is bf16.
    """
    rng = np.random.default_rng(index)
    points = zero_points or (None,) * len(inputs)
    return tuple(
        _plain(info, index, rng) if point is None else _quantized(info, index, rng, point)
        for info, point in zip(inputs, points, strict=True)
    )


def cases(inputs: Sequence[TensorInfo]) -> tuple[spec.Case, ...]:
    """Returns the cases for a model that has none of its own."""
    return tuple(case(inputs, index) for index in range(COUNT))


def sensible(
    inputs: tuple[spec.Case, ...], outputs: tuple[spec.Case, ...]
) -> tuple[tuple[spec.Case, ...], tuple[spec.Case, ...]]:
    """Returns the inputs and the framework's outputs without the cases that make no sense.

    The first case always remains. Another case is dropped if an output has NaN or Inf, or is so much
    larger than in the first case that a tolerance for its rounding errors would mean nothing there.
    """
    kept = [0]
    for index in range(1, len(inputs)):
        if all(map(_in_proportion, outputs[index], outputs[0])):
            kept.append(index)
    return tuple(inputs[i] for i in kept), tuple(outputs[i] for i in kept)


def _in_proportion(output: Array, first: Array) -> bool:
    if output.dtype.kind != "f":
        return True
    size = np.abs(first[np.isfinite(first)].astype(np.float64)).max(initial=0.0)
    largest = np.abs(output.astype(np.float64)).max(initial=0.0)
    return bool(np.isfinite(largest) and (size == 0 or largest <= size * _LARGEST_RATIO))


def carry_few(model: ImportedModel) -> ImportedModel:
    """Returns a model whose firmware contains only the first few cases.

    The import compares the other cases on the host.
    """
    golden = model.golden
    arrays = (*golden.inputs[0], *golden.outputs[0])
    fitting = _CARRIED_BYTES // sum(array.nbytes for array in arrays)
    count = max(1, min(_CARRIED, fitting))
    rest = tuple(zip(golden.inputs[count:], golden.outputs[count:], strict=True))
    kept = replace(golden, inputs=golden.inputs[:count], outputs=golden.outputs[:count])
    return replace(model, golden=kept, compared_only=(*model.compared_only, *rest))


def _plain(info: TensorInfo, index: int, rng: np.random.Generator) -> Array:
    if info.dtype is DType.BF16:
        raise BmcError(
            "unsupported-dtype",
            f"cannot make random bf16 data for {info.describe()}",
            hint=f"give cases ({intake.HOW})",
        )
    if info.dtype.is_float:
        factor, constant = {1: (10.0, 0.0), 2: (0.0, 0.0), 3: (0.0, 1.0), 4: (0.01, 0.0)}.get(
            index, (1.0, 0.0)
        )
        values = rng.standard_normal(info.shape) * factor + constant
        return np.asarray(values, info.dtype.numpy)
    low, high = {2: (0, 1), 3: (1, 2)}.get(index, (0, 2))
    return np.asarray(rng.integers(low, high, info.shape), info.dtype.numpy)


def _quantized(info: TensorInfo, index: int, rng: np.random.Generator, zero_point: int) -> Array:
    limits = np.iinfo(info.dtype.numpy)
    low, high = int(limits.min), int(limits.max)
    size = int(np.prod(info.shape, dtype=np.int64))
    # Twice in 16 cases, a single value everywhere: both ends, the zero point, its neighbors, then any.
    same = (low, high, zero_point, zero_point + 1, zero_point - 1)
    turn, kind = divmod(index, 16)
    number = 2 * turn + (kind == 8)
    values: Array
    if kind == 1:
        values = (np.arange(size) + turn * 37) % (high - low + 1) + low
    elif kind == 2:
        values = rng.choice((low, high), size)
    elif kind in (3, 7, 11):
        values = zero_point + np.round(rng.standard_normal(size) * (2, 10, 40)[kind // 4])
    elif kind in (4, 8):
        values = np.full(size, same[number] if number < len(same) else rng.integers(low, high + 1))
    else:
        values = rng.integers(low, high + 1, size)
    return np.clip(values, low, high).astype(info.dtype.numpy).reshape(info.shape)
