"""PyTorch's answers, and how far from them another correct computation may be.

The same module runs three more times in f64, once plainly and twice with noise: every op that rounds is
followed by a random error of up to 2^-20 of its result's largest element. That is a few roundings of f32, or the
error of an approximated function. What the noise and f32 do to an output, four times, is its tolerance.
An int8 model runs twice more, with the largest error upwards and downwards, because a random one may leave a value
on its side of the middle between two steps.
Ops that only move or select values get no noise, so a model of such ops must be exact. A model whose answer
depends on its roundings is useless as a test: where an integer changes, or where the tolerance is more than
a thousandth of the output's largest element, as when an int8 value rounds to another step.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

from bmc import spec
from bmc.dtype import Array

_NOISE = 2.0**-20
# PyTorch quantizes in f32 with one multiplication more or less than IREE.
_NOISE_INT8 = 2.0**-21
_RUNS = 2
_MARGIN = 4.0
_WORST = 1e-3
# Parts of the names of ops whose results are some of their operands' values.
_EXACT = (
    "_copy", "abs", "alias", "arange", "as_strided", "cat", "clamp", "clone", "constant_pad", "copy_",
    "detach", "embedding", "empty", "expand", "flip", "full", "gather", "hardtanh", "index", "lift_fresh", "max",
    "min", "neg", "pad1d", "pad2d", "permute", "relu", "repeat", "roll", "select", "slice", "sort", "split",
    "squeeze", "stack", "topk", "transpose", "tril", "triu", "upsample_nearest", "view", "where", "zeros",
)  # fmt: skip


class UndecidedError(Exception):
    """The answer depends on roundings, or says nothing; the message is a word or two."""


@dataclass(frozen=True)
class Answers:
    """What each call must give.

    Attributes:
      inputs, outputs: arrays of each call.
      policies: one per output.
    """

    inputs: tuple[spec.Case, ...]
    outputs: tuple[spec.Case, ...]
    policies: tuple[spec.Policy, ...]


class _Precise(TorchDispatchMode):  # type: ignore[misc]
    """Computes in f64, with noise, which is random or the same everywhere."""

    def __init__(self, noise: float, generator: torch.Generator | None) -> None:
        super().__init__()
        self._noise = noise
        self._generator = generator

    def _errors(self, shape: torch.Size) -> torch.Tensor:
        """Returns errors from -1 to 1."""
        if self._generator is None:
            return torch.ones(shape, dtype=torch.float64)
        return 2 * torch.rand(shape, generator=self._generator, dtype=torch.float64) - 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        quantizes = "quantize_per" in str(func)
        args, kwargs = _pytree.tree_map(
            _narrow if quantizes else _widen, (args, dict(kwargs or {}))
        )
        result = _pytree.tree_map(_widen, func(*args, **kwargs))
        name = func.overloadpacket.__name__
        if not self._noise or quantizes or any(part in name for part in _EXACT):
            return result
        return _pytree.tree_map(self._disturb, result)

    def _disturb(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float64 or not value.numel():
            return value
        return value + self._errors(value.shape) * (self._noise * value.abs().max())


def _widen(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
        return value.double()
    return torch.float64 if value is torch.float32 else value


def _narrow(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def answers(
    module: Any,
    calls: tuple[tuple[Any, ...], ...],
    initial: tuple[Any, ...],
    *,
    int8: bool,
) -> Answers:
    """Runs the calls in PyTorch, one after the other, and judges their outputs.

    Args:
      module: maps arguments and states to (outputs, new states).
      calls: arguments of each call.
      initial: the states before the first.
      int8: it quantizes.

    Raises:
      UndecidedError: an output depends on roundings, is not finite, or is zero everywhere.
    """
    plain = _run(module, calls, initial)
    noise = _NOISE_INT8 if int8 else _NOISE
    with torch.no_grad():
        exact = _precise(module, calls, initial, 0.0, None)
        others = [
            _precise(module, calls, initial, noise, torch.Generator().manual_seed(seed))
            for seed in range(_RUNS)
        ]
        if int8:
            others += [_precise(module, calls, initial, each, None) for each in (noise, -noise)]
    policies = tuple(
        _policy([out[i] for out in plain], [out[i] for out in exact],
                [[out[i] for out in other] for other in others])
        for i in range(len(plain[0]))
    )  # fmt: skip
    arrays = tuple(tuple(np.array(tensor.numpy()) for tensor in call) for call in calls)
    return Answers(arrays, plain, policies)


def _run(
    module: Any, calls: tuple[tuple[Any, ...], ...], states: tuple[Any, ...]
) -> tuple[spec.Case, ...]:
    found = []
    with torch.no_grad():
        for call in calls:
            outputs, states = module(*call, *states)
            # Copied, because an output may be a state.
            found.append(tuple(np.array(out.contiguous().numpy()) for out in outputs))
    return tuple(found)


def _precise(
    module: Any,
    calls: tuple[tuple[Any, ...], ...],
    states: tuple[Any, ...],
    noise: float,
    generator: torch.Generator | None,
) -> tuple[spec.Case, ...]:
    module = copy.deepcopy(module).double()
    wide = tuple(tuple(map(_widen, call)) for call in calls)
    with _Precise(noise, generator):
        return _run(module, wide, tuple(map(_widen, states)))


def _policy(plain: list[Array], exact: list[Array], others: list[list[Array]]) -> spec.Policy:
    """Judges one output in all calls."""
    if not any(array.any() for array in plain):
        raise UndecidedError("zero")
    runs = [plain, *others]
    if plain[0].dtype.kind != "f":
        if any(not np.array_equal(a, b) for run in runs for a, b in zip(run, exact, strict=True)):
            raise UndecidedError("integers that depend on roundings")
        return spec.Exact()
    if not all(np.isfinite(array).all() for run in (plain, exact) for array in run):
        raise UndecidedError("not finite")
    largest = max(float(np.abs(array).max()) for array in exact)
    off = max(float(np.abs(a - b).max()) for run in runs for a, b in zip(run, exact, strict=True))
    if not _MARGIN * off <= _WORST * largest:
        raise UndecidedError("ill-conditioned")
    # Without a tolerance a float must be equal, but its zero may have another sign.
    return spec.Tolerance(atol=_MARGIN * off, rtol=0.0)
