"""Made-up inputs: for models that come without any, more for quantized models, and more of all kinds beside the user's.

All are seeded, so a model gets the same inputs on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bmc import spec
from bmc.artifacts import ImportedModel, TensorInfo
from bmc.dtype import Array, is_float

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
    """
    rng = np.random.default_rng(index)
    points = zero_points or (None,) * len(inputs)
    return tuple(
        _plain(info, index, rng) if point is None else _quantized(info, index, rng, point)
        for info, point in zip(inputs, points, strict=True)
    )


def cases(
    inputs: Sequence[TensorInfo], zero_points: Sequence[int | None] = ()
) -> tuple[spec.Case, ...]:
    """Returns the cases for a model that has none of its own; arguments are those of case()."""
    return tuple(case(inputs, index, zero_points) for index in range(COUNT))


def sensible(
    inputs: tuple[spec.Case, ...],
    outputs: tuple[spec.Case, ...],
    is_steady: Callable[[spec.Case, spec.Case], bool] | None = None,
    *,
    in_a_row: bool = False,
) -> tuple[tuple[spec.Case, ...], tuple[spec.Case, ...]]:
    """Returns the inputs and the framework's outputs without the cases that make no sense.

    The first case always remains. Another case is dropped if an output has NaN or Inf, or is so much
    larger than in the first case that a tolerance for its rounding errors would mean nothing there, or if
    `is_steady` says that roundings change its outputs (conditioning.py).
    With `in_a_row`, cases depend on those before them, so all that follow are dropped as well.
    """
    kept = [0]
    for index in range(1, len(inputs)):
        if all(map(_in_proportion, outputs[index], outputs[0])) and (
            is_steady is None or is_steady(inputs[index], outputs[index])
        ):
            kept.append(index)
        elif in_a_row:
            break
    return tuple(inputs[i] for i in kept), tuple(outputs[i] for i in kept)


def _in_proportion(output: Array, first: Array) -> bool:
    if not is_float(output):
        return True
    size = np.abs(first[np.isfinite(first)].astype(np.float64)).max(initial=0.0)
    largest = np.abs(output.astype(np.float64)).max(initial=0.0)
    return bool(np.isfinite(largest) and (size == 0 or largest <= size * _LARGEST_RATIO))


def carry_few(model: ImportedModel) -> ImportedModel:
    """Returns a model whose firmware contains only the first few cases.

    The import compares the other cases on the host. All calls in a row are carried that fit, because a state
    may fill slowly.
    """
    golden = model.golden
    arrays = (*golden.inputs[0], *golden.outputs[0])
    fitting = _CARRIED_BYTES // max(sum(array.nbytes for array in arrays), 1)
    count = max(1, min(len(golden.calls) or _CARRIED, fitting))
    rest = tuple(zip(golden.inputs[count:], golden.outputs[count:], strict=True))
    kept = replace(
        golden,
        inputs=golden.inputs[:count],
        outputs=golden.outputs[:count],
        calls=golden.calls[:count],
    )
    return replace(model, golden=kept, compared_only=(*model.compared_only, *rest))


@dataclass(frozen=True)
class Uses:
    """What a model does with its inputs, as far as made-up inputs depend on it.

    Attributes:
      extents: for each input that is an index, the extent that it is an index for.
      floats: whether floats of any kind make sense: the model only moves and compares them.
      integers: whether integers of any kind make sense where they are no indices.
      bytes: whether bytes of any kind do, even where `integers` is not set.
      equal: whether the framework defines what it does with equal numbers.
      signs: whether the framework defines what it does with the sign of zero.
      zeros: whether an integer may be zero; otherwise it is also not -1, since both are divisors that crash.
      from_end: whether the framework defines what an index does that counts from the end of a tensor.
      outside: whether it defines what an index further outside of a tensor does.
    """

    extents: Mapping[int, int]
    floats: bool = True
    integers: bool = True
    bytes: bool = True
    equal: bool = True
    signs: bool = True
    zeros: bool = True
    from_end: bool = True
    outside: bool = True


def beside(
    first: spec.Case,
    inputs: Sequence[TensorInfo],
    ranges: Sequence[tuple[float, float] | None],
    uses: Uses,
) -> tuple[tuple[str, spec.Case], ...]:
    """Returns made-up cases, each with the name of its kind; they differ from each other and from the user's case.

    Args:
      first: the user's case, of which inputs stay that a kind says nothing about.
      inputs: the model's inputs.
      ranges: for each input the least and the largest number that it may have, None for any; () for none.
      uses: what the model does with them.
    """
    made: list[tuple[str, spec.Case]] = []
    bounds = tuple(ranges) or (None,) * len(inputs)
    for number, (kind, make) in enumerate(_KINDS.items()):
        arrays = []
        for index, (given, info) in enumerate(zip(first, inputs, strict=True)):
            rng = np.random.default_rng((number, index))
            array = make(info, uses.extents.get(index), uses, rng, index)
            arrays.append(given if array is None else _within(array, info, bounds[index]))
        case = tuple(arrays)
        if not any(_same(case, other) for other in (first, *(case for _, case in made))):
            made.append((kind, case))
    return tuple(made)


def _same(case: spec.Case, other: spec.Case) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(case, other, strict=True))


def _within(array: Array, info: TensorInfo, bounds: tuple[float, float] | None) -> Array:
    array = array.astype(info.dtype.numpy).reshape(info.shape)
    if bounds is None:
        return array
    inside = np.where(np.isnan(array), bounds[0], array) if info.dtype.is_float else array
    return np.clip(inside, *bounds).astype(info.dtype.numpy)


def _index(times: int, negative: bool, ends: Callable[[int], tuple[int, ...]]) -> _Make:
    """Makes indices of up to so many extents, those of `ends` first, because there may be only one."""

    def make(
        info: TensorInfo, extent: int | None, uses: Uses, rng: np.random.Generator, place: int
    ) -> Array | None:
        if extent is None or (negative and not uses.from_end) or (times > 1 and not uses.outside):
            return None
        # Truth values may become indices too.
        if info.dtype.numpy.kind not in "iu":
            return None
        size = math.prod(info.shape)
        values = rng.integers(-times * extent if negative else 0, times * extent, size)
        values[: len(ends(extent))] = ends(extent)[:size]
        limits = np.iinfo(info.dtype.numpy)
        return np.clip(values, limits.min, limits.max)

    return make


def _integers(small: bool, zeros: bool) -> _Make:
    def make(
        info: TensorInfo, extent: int | None, uses: Uses, rng: np.random.Generator, place: int
    ) -> Array | None:
        dtype = info.dtype.numpy
        if (
            extent is not None
            or info.dtype.is_float
            or dtype.kind not in "iu"
            or not (uses.bytes if dtype.itemsize == 1 else uses.integers)
            or zeros > uses.zeros
        ):
            return None
        limits, size = np.iinfo(dtype), math.prod(info.shape)
        low, high = int(limits.min), int(limits.max)
        if small:
            values = rng.integers(max(low, -3), 4, size)
            if not uses.equal:
                values = np.clip(rng.permutation(size) - size // 2, low, high)
        else:
            values = rng.integers(low, high, size, dtype, endpoint=True)
            if uses.equal:
                extremes = [low, low + 1, high, high - 1, 1, low, high, 7]
                ends = rng.permutation(np.array(extremes, dtype))
                places = rng.permutation(size)[: max(size // 2, 1)][: len(ends)]
                values[places] = ends[: len(places)]
        if not zeros and not small:
            # A small number beside each large one of another input: their quotients are large.
            less = (np.arange(size) + place) % 2 == 1
            values = np.where(less, rng.integers(1, 8, size).astype(dtype), values)
        if not zeros and small and uses.equal and low < 0:
            # Half of them negative, however few there are.
            less = (np.arange(size) + place) % 2 == 0
            values = np.where(less, -rng.integers(1, 3, size), values)
        if not zeros:
            values = np.where((values == 0) | ((values == -1) & (not uses.zeros)), 2, values)
        return np.asarray(values)

    return make


def _floats(kind: str) -> _Make:
    def make(
        info: TensorInfo, extent: int | None, uses: Uses, rng: np.random.Generator, place: int
    ) -> Array | None:
        if not info.dtype.is_float or not uses.floats:
            return None
        size = math.prod(info.shape)
        most = 100 if info.dtype.byte_count > 2 else 10
        distinct = (rng.permutation(size) - size // 2 + 0.5).astype(np.float64)
        if kind == "equal":
            zeros = (-0.0 if uses.signs else 0.0, 0.0)
            values = rng.choice((-2.0, -1.0, *zeros, 1.0, 2.0), size) if uses.equal else distinct
        elif kind == "sizes":
            values = np.ldexp(
                rng.integers(-1000, 1001, size) / 1024.0, rng.integers(-most, most, size)
            )
        else:
            values = rng.choice((-1.0, 0.0, 2.0, 3.0), size) if uses.equal else distinct
            special = (np.nan, np.inf, -np.inf) * (2 if uses.equal else 1)
            places = rng.permutation(size)[: max(size // 3, 1)][: len(special)]
            values[places] = special[: len(places)]
        return np.asarray(values)

    return make


_Make = Callable[[TensorInfo, "int | None", Uses, np.random.Generator, int], "Array | None"]
# The kinds of made-up inputs, and what makes one input of each.
_KINDS: dict[str, _Make] = {
    "indices that count from the front": _index(1, False, lambda n: (n - 1, 0)),
    "indices that count from the end": _index(1, True, lambda n: (-1, -n, n - 1)),
    "indices outside of what they index": _index(3, True, lambda n: (2 * n, -n - 1, n)),
    "integers of the whole type": _integers(small=False, zeros=True),
    "integers of the whole type but 0": _integers(small=False, zeros=False),
    "small integers": _integers(small=True, zeros=True),
    "small integers but 0": _integers(small=True, zeros=False),
    "floats with equal elements and zeros": _floats("equal"),
    "floats of all sizes": _floats("sizes"),
    "floats with NaN and infinities": _floats("special"),
}


def _plain(info: TensorInfo, index: int, rng: np.random.Generator) -> Array:
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
