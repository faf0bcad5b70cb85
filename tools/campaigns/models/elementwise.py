"""Ops on single elements, with broadcasts: floats, integers, comparisons and casts."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from op import Call, Choice, Op, Values, no_attributes, of_one

_UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": torch.abs,
    "ceil": lambda x: torch.ceil(x * 3),
    "cos": torch.cos,
    "elu": F.elu,
    "erf": torch.erf,
    "exp": lambda x: torch.exp(torch.clamp(x, -5, 4)),
    "floor": lambda x: torch.floor(x * 3),
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "half": lambda x: x.half().float(),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "log": lambda x: torch.log(x.abs() + 0.5),
    "mish": F.mish,
    "neg": torch.neg,
    "reciprocal": lambda x: torch.reciprocal(x.abs() + 0.5),
    "relu": torch.relu,
    "relu6": F.relu6,
    "round": lambda x: torch.round(x * 3),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 0.2),
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "silu": F.silu,
    "sin": torch.sin,
    "softplus": F.softplus,
    "sqrt": lambda x: torch.sqrt(x.abs() + 0.01),
    "square": torch.square,
    "tanh": torch.tanh,
}

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": torch.add,
    "atan2": lambda a, b: torch.atan2(a, b.abs() + 0.5),
    "div": lambda a, b: a / (b.abs() + 0.5),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "mul": torch.mul,
    "pow": lambda a, b: torch.pow(a.abs() + 0.2, torch.clamp(b, -2, 2)),
    "sub": torch.sub,
    "where": lambda a, b: torch.where(a > b, a * 0.5, b),
}

_INTEGER: dict[str, Callable[[Any, Any], Any]] = {
    "int_add": torch.add,
    "int_and": torch.bitwise_and,
    "int_div": lambda a, b: torch.div(a, (b & 7) + 1, rounding_mode="trunc"),
    "int_floor_div": lambda a, b: torch.div(a, (b & 7) + 1, rounding_mode="floor"),
    "int_max": torch.maximum,
    "int_min": torch.minimum,
    "int_mul": torch.mul,
    "int_or": torch.bitwise_or,
    "int_remainder": lambda a, b: torch.remainder(a, (b & 7) + 1),
    "int_sub": torch.sub,
    "int_where": lambda a, b: torch.where(a > b, a, -b),
    "int_xor": torch.bitwise_xor,
}

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": torch.eq,
    "ge": torch.ge,
    "gt": torch.gt,
    "lt": torch.lt,
}


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


def _two(names: Callable[[Values], list[str]]) -> Callable[[Random, Values], Choice | None]:
    """Returns a pick() of two values that broadcast, of which the second may be a constant."""

    def pick(random: Random, values: Values) -> Choice | None:
        found = names(values)
        first = values.latest(random, found)
        if first is None:
            return None
        shape = values.shape(first)
        others = [n for n in found if n != first and _broadcast(shape, values.shape(n))]
        if others and random.random() < 0.7:
            both = [first, random.choice(others)]
            random.shuffle(both)
            return tuple(both), {}
        # A constant that is broadcast, of the same rank or less, down to a scalar.
        constant = [1 if random.random() < 0.4 else n for n in shape]
        return (first,), {"constant": constant[random.randint(0, len(constant)) :]}

    return pick


def _second(c: Call) -> Any:
    if len(c.args) == 2:
        return c.args[1]
    constant = c.weight(0, tuple(c["constant"]))
    # By way of a type that holds them all: what u8 makes of a negative float is not defined.
    return constant if c.x.is_floating_point() else (constant * 10).to(torch.int32).to(c.x.dtype)


def _same_type(c: Call) -> tuple[Any, Any]:
    second = _second(c)
    return c.x, second.to(c.x.dtype)


def _unary_op(function: Callable[[Any], Any]) -> Op:
    return Op(of_one(0, 5, no_attributes), lambda c: function(c.x))


def _binary_op(function: Callable[[Any, Any], Any]) -> Op:
    return Op(_two(lambda values: values.floats(0, 5)), lambda c: function(c.x, _second(c)))


def _integer_op(function: Callable[[Any, Any], Any]) -> Op:
    return Op(_two(lambda values: values.integers()), lambda c: function(*_same_type(c)))


def _clamp(random: Random, _: tuple[int, ...]) -> dict[str, Any]:
    low, high = sorted(round(random.uniform(-2, 2), 2) for _ in range(2))
    return {"low": low, "high": high}


def _of_integer(attributes: Callable[[Random], dict[str, Any]]) -> Any:
    def pick(random: Random, values: Values) -> Choice | None:
        name = values.latest(random, values.integers())
        return None if name is None else ((name,), attributes(random))

    return pick


def _to_integer(random: Random, _: tuple[int, ...]) -> dict[str, Any]:
    return {"type": random.choice(("int32", "int64", "int16", "int8", "uint8"))}


def _cast_to_integer(c: Call) -> Any:
    # Within the range of every type: what other values become is not defined.
    low = 0 if c["type"] == "uint8" else -100
    return torch.clamp(c.x * 20, low, 100).to(getattr(torch, c["type"]))


OPS = {
    **{name: _unary_op(function) for name, function in _UNARY.items()},
    **{name: _binary_op(function) for name, function in _BINARY.items()},
    **{name: _binary_op(function) for name, function in _COMPARISONS.items()},
    "clamp": Op(of_one(0, 5, _clamp), lambda c: torch.clamp(c.x, c["low"], c["high"])),
    "to_integer": Op(of_one(0, 5, _to_integer), _cast_to_integer),
}

INTEGER_OPS = {
    **{name: _integer_op(function) for name, function in _INTEGER.items()},
    "int_cast": Op(
        _of_integer(lambda random: {"type": random.choice(("int32", "int64"))}),
        lambda c: c.x.to(getattr(torch, c["type"])),
    ),
    "int_shift": Op(
        _of_integer(lambda random: {"by": random.randint(0, 6), "left": random.random() < 0.4}),
        lambda c: c.x << c["by"] if c["left"] else c.x >> c["by"],
    ),
    "int_to_float": Op(_of_integer(lambda _: {}), lambda c: c.x.float() * 0.05),
}

# Those that int8 models have between their products.
BETWEEN_PRODUCTS = {
    name: OPS[name]
    for name in (
        "add", "clamp", "gelu", "hardswish", "leaky_relu", "mul", "relu", "relu6", "sigmoid", "silu",
        "sub", "tanh",
    )
}  # fmt: skip
