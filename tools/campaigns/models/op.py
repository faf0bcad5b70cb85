"""What an op of a random model is: how to choose its operands, and how PyTorch computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

# Names of operands, and attributes that JSON can hold.
Choice = tuple[tuple[str, ...], dict[str, Any]]


@dataclass(frozen=True)
class Values:
    """The values of a graph so far, by name, as PyTorch computed them."""

    tensors: Mapping[str, Any]

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.tensors[name].shape)

    def floats(self, low: int = 0, high: int = 6) -> list[str]:
        """Returns the names of f32 values with `low` to `high` dimensions."""
        return [
            name
            for name, tensor in self.tensors.items()
            if low <= tensor.dim() <= high and str(tensor.dtype) == "torch.float32"
        ]

    def integers(self, low: int = 0) -> list[str]:
        """Returns the names of values of 8 to 64 bits with at least `low` dimensions."""
        return [
            name
            for name, tensor in self.tensors.items()
            if tensor.dim() >= low
            and not tensor.is_floating_point()
            and str(tensor.dtype) != "torch.bool"
        ]

    def latest(self, random: Random, names: list[str]) -> str | None:
        """Returns one of the names, rather a late one, so that graphs become deep; None if there is none."""
        if not names:
            return None
        return names[-1 - min(int(random.expovariate(0.7)), len(names) - 1)]


class Weight(Protocol):
    """See Call.weight."""

    def __call__(self, number: int, shape: tuple[int, ...], terms: int = 1) -> Any: ...


@dataclass(frozen=True)
class Call:
    """An op at work.

    Attributes:
      args: the operands as tensors.
      attrs: the node's attributes.
      weight: returns the node's weight of a number and a shape, normally distributed. A sum of as many
        products as the third argument says is then about as large as its operands.
    """

    args: tuple[Any, ...]
    attrs: dict[str, Any]
    weight: Weight

    @property
    def x(self) -> Any:
        return self.args[0]

    def __getitem__(self, attribute: str) -> Any:
        return self.attrs[attribute]


@dataclass(frozen=True)
class Op:
    """One entry of the table of ops.

    Attributes:
      pick: chooses operands and attributes; None if no value fits.
      apply: computes the result.
    """

    pick: Callable[[Random, Values], Choice | None]
    apply: Callable[[Call], Any]


def of_one(
    low: int, high: int, attributes: Callable[[Random, tuple[int, ...]], dict[str, Any] | None]
) -> Callable[[Random, Values], Choice | None]:
    """Returns a pick() of one f32 operand with `low` to `high` dimensions."""

    def pick(random: Random, values: Values) -> Choice | None:
        name = values.latest(random, values.floats(low, high))
        if name is None:
            return None
        found = attributes(random, values.shape(name))
        return None if found is None else ((name,), found)

    return pick


def no_attributes(_: Random, __: tuple[int, ...]) -> dict[str, Any]:
    return {}


def axis(random: Random, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"axis": random.randrange(len(shape))}
