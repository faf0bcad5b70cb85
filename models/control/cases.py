"""Inputs for the MLIR files next to this one, and the outputs, computed step by step in NumPy."""

from __future__ import annotations

import numpy as np

from bmc.spec import Array, Cases, Exact, Tolerance

_CLOSE = Tolerance(atol=1e-5, rtol=1e-5)


def while_loop() -> Cases:
    """The loop ends at the limit, after the number of steps, or before the first step."""
    starts = (np.array([0.1, -0.2, 0.3, 0.4], np.float32), np.full(4, 30.0, np.float32))
    cases = [(x, np.array(n, np.int32)) for x in starts for n in (0, 3, 50)]
    return Cases(
        cases=tuple(cases),
        expected=tuple(_while_loop(x, int(n)) for x, n in cases),
        tolerance=(_CLOSE, Exact()),
    )


def _while_loop(x: Array, n: int) -> tuple[Array, Array]:
    steps = 0
    while steps < n and x.sum(dtype=np.float32) < 100:
        x = (x + x) + np.tanh(x + x)
        steps += 1
    return x, np.array(steps, np.int32)


def branch() -> Cases:
    up = np.arange(8, dtype=np.float32).reshape(1, 8)
    return Cases(
        cases=((up,), (-up,), (up - 3,)),
        expected=tuple(
            (np.full((1, 8), x.sum() * (0.5 if x.sum() > 0 else -0.25), np.float32),)
            for x in (up, -up, up - 3)
        ),
        tolerance=_CLOSE,
    )


def branches() -> Cases:
    """Includes numbers before the first and after the last branch."""
    x = np.array([-1.5, 0.5, 2, -3], np.float32)
    computed = (
        lambda v: v + x,
        lambda v: v * x,
        lambda v: x - v,
        lambda v: -np.maximum(v, x),
    )
    numbers = (-4, -2, -1, 0, 1, 2, 3, 100)
    expected = []
    for first in numbers:
        v = x
        for number in range(first, first + 3):
            v = computed[number if 0 <= number < 4 else 3](v)
        expected.append((v,))
    return Cases(
        cases=tuple((np.array(number, np.int32), x) for number in numbers),
        expected=tuple(expected),
        tolerance=Exact(),
    )


def update_slice() -> Cases:
    """Includes places before the first and after the last row, which are clamped."""
    x = np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16)
    row = np.arange(16, dtype=np.float32).reshape(1, 16)
    places = (0, 5, 7, -3, 100)
    expected = []
    for at in places:
        y = x.copy()
        y[min(max(at, 0), 7)] = row
        expected.append((np.arange(1, 9, dtype=np.float32) @ y,))
    return Cases(
        cases=tuple((x, row, np.array(at, np.int32)) for at in places),
        expected=tuple(expected),
        tolerance=_CLOSE,
    )


def shift() -> Cases:
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    return Cases(cases=((x,),), expected=((np.concatenate([x[:1], x[:-1]]),),), tolerance=Exact())


def counter() -> Cases:
    """Every call returns the sum of the earlier ones."""
    total = np.array([1, 2, 3, 4], np.float32)
    cases, expected = [], []
    for step in range(4):
        x = np.full(4, 0.5 * step, np.float32)
        cases.append((x,))
        expected.append((total,))
        total = total + x
    return Cases(cases=tuple(cases), expected=tuple(expected), tolerance=Exact())
