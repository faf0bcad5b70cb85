"""Compares what each dispatch of a model wrote, on the target and on this machine.

The two builds of a model need not have the same dispatches. What belongs together is found by the names of the model's
layers. Images may be stored with their channels first or last, and with a padding; how is found by comparing.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from bmc import dtype
from bmc.dtype import Array, DType
from bmc.report import Model
from tools.cli import UserError
from tools.report.rows import Row, rows
from tools.run.debug import npy
from tools.run.debug.tolerance import Tolerance, finite
from tools.service.service import Stop

# bm_plan_binding_t.region.
_REGIONS = {"arena": 0, "weights": 1, "state": 2, "fast": 3}
# The most rows or columns that a padding may add.
_MOST_PADDING = 8


@dataclasses.dataclass(frozen=True)
class Step:
    """A tensor that a dispatch writes.

    Attributes:
      stop: the command, and where the tensor is afterwards.
      layer: the layer of the user's model, or its place in the source.
      op: what the dispatch computes.
    """

    stop: Stop
    layer: str
    op: str
    dtype: DType
    shape: tuple[int, ...]

    def array(self, data: bytes) -> Array:
        """Returns the tensor that `data` is."""
        return np.frombuffer(data, self.dtype.numpy).reshape(self.shape)


@dataclasses.dataclass(frozen=True)
class Entry:
    """The commands of an entry point, and what its dispatches write."""

    commands: range
    steps: tuple[Step, ...]


def entry(report: Model, name: str) -> Entry:
    """Reads an entry point from report.json.

    Raises:
      UserError: it has loops or branches.
    """
    found = next(entry for entry in report.entries if entry.name == name)
    if found.driver:
        raise UserError(
            f"{report.name} has loops or branches in {name}, so it does not stop after each layer:"
            " leave out --per-layer, or compare with `.bisect` instead of `.validate`"
        )
    commands = range(found.first_command, found.first_command + found.command_count)
    own = rows(report)[commands.start : commands.stop]
    return Entry(commands, tuple(itertools.chain(*map(_steps, own))))


def _steps(row: Row) -> Iterator[Step]:
    dispatch = row.dispatch
    if not dispatch:
        return
    for operand in dispatch.operands:
        shape, offset = operand.shape, operand.offset
        if not operand.writes or shape is None or offset is None:
            continue
        if not npy.item_bytes(operand.dtype):
            continue
        kind = dtype.from_mlir(operand.dtype)
        binding = row.command.bindings[operand.binding]
        stop = Stop(
            row.index,
            _REGIONS[binding.region],
            binding.offset + offset,
            math.prod(shape) * kind.byte_count,
        )
        layer = row.command.layer or dispatch.source
        yield Step(stop, layer, dispatch.op, kind, shape)


def pairs(target: Sequence[Step], other: Sequence[Step]) -> list[tuple[Step, Step | None]]:
    """Returns each step of the target with the one of the other side that computes the same, if there is one.

    A layer ends with its result, so its steps are paired from the last one on.
    """
    partner: dict[int, Step] = {}
    for layer in {step.layer for step in target}:
        left = [step for step in other if step.layer == layer]
        for index in range(len(target) - 1, -1, -1):
            step = target[index]
            if step.layer != layer:
                continue
            for at in range(len(left) - 1, -1, -1):
                if _comparable(step, left[at]):
                    partner[index] = left[at]
                    del left[at:]
                    break
    return [(step, partner.get(index)) for index, step in enumerate(target)]


def _comparable(step: Step, other: Step) -> bool:
    return step.dtype.is_float == other.dtype.is_float and any(
        True for _ in _places(step.shape, other.shape)
    )


@dataclasses.dataclass(frozen=True)
class _Place:
    """How the target's tensor is found in the other side's, or that one in the target's.

    Attributes:
      shape: of the other side's.
      moved: from which axis to which its channels then move, if they do.
      begins: where on each axis the smaller tensor begins in the larger.
    """

    shape: tuple[int, ...]
    moved: tuple[int, int] | None
    begins: tuple[int, ...]

    def views(self, got: Array, want: Array) -> tuple[Array, Array]:
        got = got.reshape([extent for extent in got.shape if extent != 1])
        want = want.reshape(self.shape)
        if self.moved:
            want = np.moveaxis(want, *self.moved)
        common = [min(pair) for pair in zip(got.shape, want.shape, strict=True)]

        def cut(array: Array) -> Array:
            ranges = zip(array.shape, self.begins, common, strict=True)
            return array[tuple(slice(b, b + n) if e > n else slice(None) for e, b, n in ranges)]

        return cut(got), cut(want)


def _places(got: tuple[int, ...], want: tuple[int, ...]) -> Iterator[_Place]:
    """Yields the ways in which two tensors may be the same image or matrix, the most likely first."""
    got, want = (tuple(extent for extent in shape if extent != 1) for shape in (got, want))
    if len(got) != len(want):
        if math.prod(got) == math.prod(want):
            yield _Place(got, None, (0,) * len(got))
        return
    moves = (None, (-1, 0), (0, -1)) if len(got) > 1 else (None,)
    for move in moves:
        axes = np.moveaxis(np.empty(want), *move).shape if move else want
        differences = [b - a for a, b in zip(got, axes, strict=True)]
        larger, smaller = max(differences, default=0), min(differences, default=0)
        if larger - smaller <= _MOST_PADDING and larger * smaller == 0:
            for begins in itertools.product(*(range(abs(d) + 1) for d in differences)):
                yield _Place(want, move, begins)


@dataclasses.dataclass
class Growth:
    """The errors of one step over all samples, as they come in.

    Attributes:
      step: of the target.
      other: the step of the other side that computes the same, if there is one.
      max_abs: largest error; of integers, in steps.
      noise, signal: sums of the squares of errors and of expected values.
      count: elements so far.
      beyond: elements whose error is larger than is allowed.
    """

    step: Step
    other: Step | None
    max_abs: float = 0.0
    noise: float = 0.0
    signal: float = 0.0
    count: int = 0
    beyond: int = 0
    _place: _Place = _Place((), None, ())

    def add(self, data: bytes, other: bytes, tolerance: Tolerance) -> None:
        """Adds a sample: what the step has written on the target, and its partner."""
        assert self.other is not None
        got, want = self.step.array(data), self.other.array(other)
        # Zeros fit in every arrangement, so they choose none.
        if not self.signal:
            self._place = min(
                _places(self.step.shape, self.other.shape),
                key=lambda place: float(tolerance.judge(*place.views(got, want))[0].sum()),
            )
        got, want = self._place.views(got, want)
        error, beyond = tolerance.judge(got, want)
        self.max_abs = max(self.max_abs, float(error.max(initial=0.0)))
        self.noise += float(np.square(error).sum())
        self.signal += float(np.square(finite(want)).sum())
        self.count += error.size
        self.beyond += int(np.count_nonzero(beyond))


def first_beyond(found: Sequence[Growth]) -> int | None:
    """Returns the index of the first step with more error than is allowed, or None."""
    return next((index for index, growth in enumerate(found) if growth.beyond), None)
