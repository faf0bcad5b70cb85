"""Loops whose number of steps depends on their data."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import torch
from op import Call, Op, of_one

_MOST_STEPS = 12


def _loop(random: Random, shape: tuple[int, ...]) -> dict[str, Any]:
    return {
        "body": random.choice(("mix", "roll", "scale", "square")),
        "steps": random.randint(1, _MOST_STEPS),
        "limit": math.prod(shape) * random.choice((1.0, 3.0, 30.0)),
        "count": random.random() < 0.2,
    }


_BODIES: dict[str, Callable[..., Any]] = {
    "mix": lambda value, weight: torch.tanh(value @ weight) * 3 + value,
    "roll": lambda value: torch.roll(value, 1, -1) * 1.25 + 0.5,
    "scale": lambda value: value * -1.5,
    "square": lambda value: value * value + 0.25,
}


def _apply(c: Call) -> Any:
    """Repeats a body until the values are too large or the steps are over; returns the value or the steps."""
    size = c.x.shape[-1]
    # Loops carry their weights, because torch-mlir knows no further operands.
    weights = (c.weight(0, (size, size), size),) if c["body"] == "mix" else ()

    def goes_on(step: Any, value: Any, *_: Any) -> Any:
        return (step < c["steps"]) & (value.abs().sum() < c["limit"])

    def body(step: Any, value: Any, *weights: Any) -> tuple[Any, ...]:
        copies = (weight.clone() for weight in weights)
        return (step + 1, _BODIES[c["body"]](value, *weights), *copies)

    # PyTorch refuses a loop whose body changes the layout of a tensor, if only the strides of dimensions of size 1.
    start = c.x.clone(memory_format=torch.contiguous_format)
    values = (torch.zeros((), dtype=torch.int64), start, *weights)
    step, value, *_ = _while(goes_on, body, values)
    return step.reshape(1) if c["count"] else value


def _while(goes_on: Callable[..., Any], body: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    if torch.compiler.is_exporting():
        return torch.ops.higher_order.while_loop(goes_on, body, values, ())
    # PyTorch cannot run its own loop under a mode, such as the one that adds noise.
    while goes_on(*values):
        values = body(*values)
    return values


OPS = {"loop": Op(of_one(1, 4, _loop), _apply)}
