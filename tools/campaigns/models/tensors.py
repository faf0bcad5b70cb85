"""Ops on whole tensors: matrix products, reductions, and moves of data."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from op import Call, Choice, Op, Values, axis, no_attributes, of_one

_Shape = tuple[int, ...]
_Attributes = dict[str, Any] | None


def _linear(random: Random, _: _Shape) -> _Attributes:
    out = random.choice((1, 2, 3, 5, 7, 8, 10, 16, 17, 31, 32))
    return {"out": out, "bias": random.random() < 0.6}


def _apply_linear(c: Call) -> Any:
    size = c.x.shape[-1]
    weight = c.weight(0, (c["out"], size), size)
    return F.linear(c.x, weight, c.weight(1, (c["out"],)) if c["bias"] else None)


def _matmul(random: Random, values: Values) -> Choice | None:
    """Two values whose inner dimensions agree, possibly after a transposition, or a value with itself."""
    names = values.floats(2, 4)
    first = values.latest(random, names)
    if first is None:
        return None
    a = values.shape(first)
    second = random.choice(names)
    b = values.shape(second)
    batches = zip(reversed(a[:-2]), reversed(b[:-2]), strict=False)
    if not all(m == n or 1 in (m, n) for m, n in batches):
        second, b = first, a
    for left, right in random.sample([(x, y) for x in (0, 1) for y in (0, 1)], 4):
        if a[-2 if left else -1] == b[-1 if right else -2]:
            return (first, second), {"left": bool(left), "right": bool(right)}
    return (first, first), {"left": False, "right": True}


def _apply_matmul(c: Call) -> Any:
    left = c.args[0].mT if c["left"] else c.args[0]
    right = c.args[1].mT if c["right"] else c.args[1]
    return left @ right / math.sqrt(left.shape[-1])


def _attention(random: Random, shape: _Shape) -> _Attributes:
    if shape[-2] > 48 or shape[-1] > 48:
        return None
    return {"causal": random.random() < 0.5, "weights": random.random() < 0.5}


def _apply_attention(c: Call) -> Any:
    size = c.x.shape[-1]
    q, k, v = (c.x @ c.weight(i, (size, size), size) if c["weights"] else c.x for i in range(3))
    return F.scaled_dot_product_attention(q, k, v, is_causal=c["causal"])


def _recurrence(random: Random, shape: _Shape) -> _Attributes:
    if shape[1] > 4:
        return None
    return {"hidden": random.choice((1, 3, 5, 8, 9)), "reverse": random.random() < 0.3}


def _apply_gru(c: Call) -> Any:
    hidden, size = c["hidden"], c.x.shape[2]
    weights = (
        c.weight(0, (3 * hidden, size), size),
        c.weight(1, (3 * hidden, hidden), hidden),
        c.weight(2, (3 * hidden,)),
        c.weight(3, (3 * hidden,)),
    )
    steps = range(c.x.shape[1])
    state = c.x.new_zeros((c.x.shape[0], hidden))
    states = []
    for step in reversed(steps) if c["reverse"] else steps:
        state = torch.gru_cell(c.x[:, step], state, *weights)
        states.append(state)
    return torch.stack(states, 1)


def _axes(random: Random, shape: _Shape) -> _Attributes:
    axes = sorted(random.sample(range(len(shape)), random.randint(1, len(shape))))
    return {"axes": axes, "keep": random.random() < 0.5}


def _deviation_axes(random: Random, shape: _Shape) -> _Attributes:
    found = _axes(random, shape)
    return found if found and math.prod(shape[i] for i in found["axes"]) > 1 else None


_REDUCTIONS: dict[str, Callable[[Any, list[int], bool], Any]] = {
    "amax": torch.amax,
    "amin": torch.amin,
    "logsumexp": torch.logsumexp,
    "mean": torch.mean,
    "norm": lambda x, axes, keep: torch.linalg.vector_norm(x + 0.1, 2, axes, keep),
    "sum": torch.sum,
}


def _reduction(function: Callable[[Any, list[int], bool], Any]) -> Op:
    return Op(of_one(1, 5, _axes), lambda c: function(c.x, c["axes"], c["keep"]))


def _permute(random: Random, shape: _Shape) -> _Attributes:
    return {"order": random.sample(range(len(shape)), len(shape))}


def _reshape(random: Random, shape: _Shape) -> _Attributes:
    """Moves factors between dimensions, and adds or drops dimensions of one element."""
    new = [1] * random.randint(1, 4)
    rest = math.prod(shape)
    for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31):
        while rest % prime == 0:
            new[random.randrange(len(new))] *= prime
            rest //= prime
    new[-1] *= rest
    return {"shape": new}


def _slices(random: Random, shape: _Shape) -> _Attributes:
    parts = []
    for size in shape:
        start = random.randrange(size) if random.random() < 0.5 else 0
        stop = random.randint(start + 1, size) if random.random() < 0.7 else size
        parts.append([start, stop, random.choice((1, 1, 1, 2, 3))])
    return {"parts": parts}


def _sliced(x: Any, parts: list[list[int]]) -> Any:
    return x[tuple(slice(*part) for part in parts)]


def _concatenate(random: Random, values: Values) -> Choice | None:
    names = values.floats(1, 5)
    first = values.latest(random, names)
    if first is None:
        return None
    shape = values.shape(first)
    along = random.randrange(len(shape))

    def fits(name: str) -> bool:
        other = values.shape(name)
        return len(other) == len(shape) and all(
            i == along or other[i] == shape[i] for i in range(len(shape))
        )

    others = [name for name in names if fits(name)]
    chosen = [first, *(random.choice(others) for _ in range(random.randint(1, 2)))]
    random.shuffle(chosen)
    return tuple(chosen), {"axis": along}


def _into_padded(random: Random, shape: _Shape) -> _Attributes:
    """A slice of a larger tensor of constants that the value replaces."""
    before = [random.randint(0, 2) for _ in shape]
    after = [random.randint(0, 2) for _ in shape]
    return {"before": before, "after": after, "zero": random.random() < 0.6}


def _apply_into_padded(c: Call) -> Any:
    ends = zip(c["before"], c.x.shape, c["after"], strict=True)
    shape = tuple(b + n + a for b, n, a in ends)
    buffer = c.x.new_zeros(shape) if c["zero"] else c.weight(0, shape).clone()
    parts = [slice(b, b + n) for b, n in zip(c["before"], c.x.shape, strict=True)]
    buffer[tuple(parts)] = c.x
    return buffer


def _indices(random: Random, shape: _Shape) -> _Attributes:
    along = random.randrange(len(shape))
    count = random.randint(1, min(8, shape[along] + 2))
    return {"axis": along, "indices": [random.randrange(shape[along]) for _ in range(count)]}


def _repeat(random: Random, shape: _Shape) -> _Attributes:
    return {"times": [random.choice((1, 1, 2, 3)) for _ in shape]}


def _roll(random: Random, shape: _Shape) -> _Attributes:
    along = random.randrange(len(shape))
    return {"axis": along, "by": random.randint(-3, 3)}


def _shuffle(random: Random, shape: _Shape) -> _Attributes:
    ups = [n for n in (2, 3) if shape[1] % (n * n) == 0]
    downs = [n for n in (2, 3) if shape[2] % n == 0 and shape[3] % n == 0]
    kinds = [("up", n) for n in ups] + [("down", n) for n in downs]
    if not kinds:
        return None
    kind, factor = random.choice(kinds)
    return {"up": kind == "up", "factor": factor}


def _shuffled(c: Call) -> Any:
    function = F.pixel_shuffle if c["up"] else F.pixel_unshuffle
    return function(c.x, c["factor"])


def _triangle(random: Random, _: _Shape) -> _Attributes:
    return {"upper": random.random() < 0.5, "diagonal": random.randint(-1, 1)}


def _triangular(c: Call) -> Any:
    return (torch.triu if c["upper"] else torch.tril)(c.x, c["diagonal"])


def _embedding(random: Random, values: Values) -> Choice | None:
    name = values.latest(random, values.integers())
    if name is None or len(values.shape(name)) > 2:
        return None
    return (name,), {"rows": random.randint(1, 20), "width": random.randint(1, 17)}


def _embedded(c: Call) -> Any:
    table = c.weight(0, (c["rows"], c["width"]))
    return F.embedding(torch.remainder(c.x.long(), c["rows"]), table)


PRODUCTS = {
    "linear": Op(of_one(2, 4, _linear), _apply_linear),
    "matmul": Op(_matmul, _apply_matmul),
}

MOVES = {
    "cat": Op(_concatenate, lambda c: torch.cat(c.args, c["axis"])),
    "flip": Op(of_one(1, 5, axis), lambda c: c.x.flip(c["axis"])),
    "into_padded": Op(of_one(1, 4, _into_padded), _apply_into_padded),
    "permute": Op(of_one(2, 5, _permute), lambda c: c.x.permute(c["order"])),
    "pixel_shuffle": Op(of_one(4, 4, _shuffle), _shuffled),
    "reshape": Op(of_one(1, 5, _reshape), lambda c: c.x.reshape(c["shape"])),
    "slice": Op(of_one(1, 5, _slices), lambda c: _sliced(c.x, c["parts"])),
}

OPS = {
    "argmax": Op(of_one(1, 5, axis), lambda c: torch.argmax(c.x, c["axis"])),
    "attention": Op(of_one(3, 4, _attention), _apply_attention),
    "cumsum": Op(of_one(1, 4, axis), lambda c: torch.cumsum(c.x, c["axis"])),
    "embedding": Op(_embedding, _embedded),
    "gru": Op(of_one(3, 3, _recurrence), _apply_gru),
    "index_select": Op(
        of_one(1, 4, _indices),
        lambda c: torch.index_select(c.x, c["axis"], torch.tensor(c["indices"])),
    ),
    "log_softmax": Op(of_one(1, 4, axis), lambda c: torch.log_softmax(c.x, c["axis"])),
    "repeat": Op(of_one(1, 4, _repeat), lambda c: c.x.repeat(c["times"])),
    "roll": Op(of_one(1, 4, _roll), lambda c: torch.roll(c.x, c["by"], c["axis"])),
    "softmax": Op(of_one(1, 5, axis), lambda c: torch.softmax(c.x, c["axis"])),
    "stack": Op(of_one(1, 4, axis), lambda c: torch.stack([c.x, c.x * 0.5, -c.x], c["axis"])),
    "std": Op(of_one(1, 4, _deviation_axes), lambda c: torch.std(c.x, c["axes"])),
    "triangle": Op(of_one(2, 4, _triangle), _triangular),
    "unsqueeze": Op(of_one(1, 4, axis), lambda c: c.x.unsqueeze(c["axis"])),
    "var": Op(of_one(1, 4, _deviation_axes), lambda c: torch.var(c.x, c["axes"])),
    **{name: _reduction(function) for name, function in _REDUCTIONS.items()},
    "mean_image": Op(of_one(4, 4, no_attributes), lambda c: c.x.mean((2, 3))),
}
