"""Ops at indices that depend on data, sorts, and arithmetic of integers with any sign."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
from op import Call, Choice, Op, Values, of_one

_MOST = 40


def _rows(random: Random, values: Values) -> Choice | None:
    """A float and an integer that becomes an index of its rows."""
    floats = values.latest(random, values.floats(1, 4))
    integers = values.latest(random, [n for n in values.integers() if len(values.shape(n)) <= 2])
    if floats is None or integers is None:
        return None
    return (floats, integers), {"negative": random.random() < 0.6}


def _index(c: Call) -> Any:
    """Indices of all rows, from both ends if the attribute says so; no more than a few."""
    count = c.x.shape[0]
    index = c.args[1].long().reshape(-1)[:_MOST]
    return torch.remainder(index, 2 * count) - count if c["negative"] else index.remainder(count)


def _put(c: Call) -> Any:
    result = c.x.clone()
    # The same number everywhere: PyTorch does not say which of two writes to one row comes last.
    result[_index(c)] = 0.75
    return result


def _added(c: Call) -> Any:
    index = _index(c)
    rows = c.weight(0, (index.shape[0], *c.x.shape[1:]))
    return c.x.index_put((index,), rows, accumulate=True)


def _order(random: Random, shape: tuple[int, ...]) -> dict[str, Any] | None:
    along = random.randrange(len(shape))
    if shape[along] > _MOST:
        return None
    return {"axis": along, "descending": random.random() < 0.5}


def _of_integers(
    attributes: Callable[[Random, tuple[int, ...]], dict[str, Any] | None],
) -> Callable[[Random, Values], Choice | None]:
    def pick(random: Random, values: Values) -> Choice | None:
        name = values.latest(random, values.integers(1))
        found = attributes(random, values.shape(name)) if name else None
        return ((name,), found) if name and found is not None else None

    return pick


def _sorted(c: Call, part: int) -> Any:
    return torch.sort(c.x, dim=c["axis"], descending=c["descending"], stable=True)[part]


def _ranks(c: Call) -> Any:
    """The place of each element in the order of all, by a scatter of numbers."""
    order = _sorted(c, 1)
    shape = [-1 if axis == c["axis"] else 1 for axis in range(c.x.dim())]
    numbers = torch.arange(c.x.shape[c["axis"]]).reshape(shape).expand_as(order)
    return torch.zeros_like(order).scatter(c["axis"], order, numbers)


def _largest(random: Random, shape: tuple[int, ...]) -> dict[str, Any] | None:
    found = _order(random, shape)
    return found and {**found, "count": random.randint(1, shape[found["axis"]])}


def _topk(c: Call) -> Any:
    return torch.topk(c.x, c["count"], dim=c["axis"], largest=c["descending"]).values


def _divisor(c: Call) -> Any:
    """A divisor between -4 and 5; not 0, and not -1, which PyTorch divides the least integer by with a trap."""
    number = torch.remainder(c.x, 9) - 4
    unusable = (number == 0) | (number == -1)
    return torch.where(unusable, torch.full_like(number, 5), number).flip(0)


def _signed_integers(random: Random, values: Values) -> Choice | None:
    signed = ("torch.int32", "torch.int64", "torch.int8")
    names = [n for n in values.integers(1) if str(values.tensors[n].dtype) in signed]
    name = values.latest(random, names)
    return None if name is None else ((name,), {})


AT_INDICES = {
    "add_at": Op(_rows, _added),
    "put": Op(_rows, _put),
    "rows": Op(_rows, lambda c: c.x[_index(c)]),
}

OPS = {
    "argsort": Op(of_one(1, 3, _order), lambda c: _sorted(c, 1)),
    "sort": Op(of_one(1, 3, _order), lambda c: _sorted(c, 0)),
    "topk": Op(of_one(1, 3, _largest), _topk),
    "int_argmax": Op(_of_integers(_order), lambda c: torch.argmax(c.x, c["axis"])),
    "int_argsort": Op(_of_integers(_order), lambda c: _sorted(c, 1)),
    "int_sort": Op(_of_integers(_order), lambda c: _sorted(c, 0)),
    "int_amax": Op(_of_integers(_order), lambda c: torch.amax(c.x, c["axis"])),
    "int_amin": Op(_of_integers(_order), lambda c: torch.amin(c.x, c["axis"])),
    # To places among its own elements.
    "int_moved": Op(_of_integers(_order), lambda c: c.x.scatter(c["axis"], _sorted(c, 1), c.x)),
    "int_ranks": Op(_of_integers(_order), _ranks),
    "int_sum": Op(_of_integers(_order), lambda c: torch.sum(c.x, c["axis"])),
    "int_abs": Op(_signed_integers, lambda c: torch.abs(c.x)),
    "int_neg": Op(_signed_integers, lambda c: torch.neg(c.x)),
    "int_any_fmod": Op(_signed_integers, lambda c: torch.fmod(c.x, _divisor(c))),
    "int_any_remainder": Op(_signed_integers, lambda c: torch.remainder(c.x, _divisor(c))),
    "int_any_floor_div": Op(
        _signed_integers, lambda c: torch.div(c.x, _divisor(c), rounding_mode="floor")
    ),
}
