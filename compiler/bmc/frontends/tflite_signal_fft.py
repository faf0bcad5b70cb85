"""The spectrum of numbers of 16 bits as kissfft computes it: in place of two real numbers one complex one, and radix 4.

Before each step, numbers are divided by its radix, which rounds them; products are rounded to 15 bits behind the point.
"""

from __future__ import annotations

import numpy as np

from bmc.dtype import Array
from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_signal_lines import Lines, Value

_ONE = 2**15 - 1
# A complex number: names of its parts, of i32 in the range of i16.
_Pair = tuple[str, str]


class Fft:
    """The spectrum of a number of real ones, which is a power of two; the lines become longer by it."""

    def __init__(self, lines: Lines, length: int) -> None:
        self._lines, self._length = lines, length
        self._half = length // 2

    def of(self, x: Value) -> tuple[Value, Value]:
        """Returns the real and imaginary parts of [length / 2 + 1] of at most `length` numbers."""
        lines, half = self._lines, self._half
        if x.shape[0] < self._length:
            x = lines.joined([x, lines.constant(np.zeros(self._length - x.shape[0], np.int16))])
        factors = _factors(half)
        # The last digit of a place becomes the first one; the one behind it tells real from imaginary.
        digits = lines.reshaped(x, [*reversed(factors), 2])
        moved = lines.transposed(digits, range(len(factors), -1, -1))
        both = lines.reshaped(moved, [2 * half])
        parts = [lines.slice(both, start, half) for start in (0, half)]
        width = 1
        for factor in reversed(factors):
            parts = self._step(parts, factor, width)
            width *= factor
        return self._real(parts)

    def _step(self, parts: list[Value], factor: int, width: int) -> list[Value]:
        """Joins as many spectra of `width` as `factor` says to one."""
        lines, shape = self._lines, (self._half // factor // width, factor, width)
        cubes = [lines.reshaped(part, shape) for part in parts]
        planes = [lines.plane(cube, place) for place in range(factor) for cube in cubes]
        stride = self._half // factor // width
        turns = [
            lines.constant(part)
            for place in range(1, factor)
            for part in _turns(-2 * np.pi * np.arange(width) * stride * place / self._half)
        ]

        def body(body: Body, *names: str) -> list[str]:
            wide = [body.cast("extsi", name, ("i16", "i32")) for name in names]
            pairs = list(zip(wide[::2], wide[1::2], strict=True))
            first, *others = (_divided(body, pair, factor) for pair in pairs[:factor])
            turned = [_product(body, a, b) for a, b in zip(others, pairs[factor:], strict=True)]
            if factor == 2:
                made = [_sum(body, first, turned[0]), _difference(body, first, turned[0])]
            else:
                odd, even = (f(body, turned[0], turned[2]) for f in (_difference, _sum))
                up, down = (f(body, first, turned[1]) for f in (_sum, _difference))
                made = [
                    _sum(body, up, even),
                    (
                        _narrow(body, body.add(down[0], odd[1])),
                        _narrow(body, body.op("subi", down[1], odd[0])),
                    ),
                    _difference(body, up, even),
                    (
                        _narrow(body, body.op("subi", down[0], odd[1])),
                        _narrow(body, body.add(down[1], odd[0])),
                    ),
                ]
            return [body.cast("trunci", each, ("i32", "i16")) for pair in made for each in pair]

        results = lines.each([*planes, *turns], ["i16"] * (2 * factor), body)
        joined = [lines.planes(results[part::2]) for part in (0, 1)]
        return [lines.reshaped(each, [self._half]) for each in joined]

    def _real(self, parts: list[Value]) -> tuple[Value, Value]:
        """Returns the spectrum of real numbers, of that of the complex ones."""
        half = self._half
        turns = [
            self._lines.constant(each)
            for each in _turns(-np.pi * (np.arange(half // 2 + 1) / half + 0.5))
        ]

        def body(body: Body) -> list[str]:
            place = body.cast("index_cast", body.line("linalg.index 0 : index"), ("index", "i32"))
            back = body.minus(half, place)
            low = body.op("minsi", place, back)
            # Behind the last one comes the first one.
            high = body.op("andi", body.minus(half, low), body.number(half - 1))

            def pair(of: list[Value], at: str) -> _Pair:
                names = [body.entry(each.name, each.type, at) for each in of]
                real, imaginary = (body.cast("extsi", name, ("i16", "i32")) for name in names)
                return real, imaginary

            ahead = pair(parts, low)
            behind = pair(parts, high)
            opposite = (behind[0], _narrow(body, body.minus(0, behind[1])))
            ahead, opposite = (_divided(body, each, 2) for each in (ahead, opposite))
            even, odd = (f(body, ahead, opposite) for f in (_sum, _difference))
            turned = _product(body, odd, pair(turns, low))
            ends = [body.op(name, *ahead) for name in ("addi", "subi")]
            lower = [body.add(a, b) for a, b in zip(even, turned, strict=True)]
            upper = [body.op("subi", even[0], turned[0]), body.op("subi", turned[1], even[1])]
            is_lower = body.line(f"arith.cmpi slt, {place}, {body.number(half // 2)} : i32")
            halves = [
                body.op("shrsi", body.select(is_lower, a, b), body.number(1))
                for a, b in zip(lower, upper, strict=True)
            ]
            is_end = body.line(f"arith.cmpi eq, {low}, {body.number(0)} : i32")
            end = body.select(is_lower, *ends)
            results = (
                body.select(is_end, end, halves[0]),
                body.select(is_end, body.number(0), halves[1]),
            )
            return [body.cast("trunci", each, ("i32", "i16")) for each in results]

        real, imaginary = self._lines.each([], ["i16", "i16"], body, [half + 1])
        return real, imaginary


def _factors(size: int) -> list[int]:
    """Returns the radices of the steps, the last one first."""
    found = []
    while size > 1:
        found.append(4 if size % 4 == 0 else 2)
        size //= found[-1]
    return found


def _turns(phases: Array) -> tuple[Array, Array]:
    cosine, sine = (np.floor(0.5 + _ONE * f(phases)) for f in (np.cos, np.sin))
    return cosine.astype(np.int16), sine.astype(np.int16)


def _narrow(body: Body, x: str) -> str:
    """Returns the lowest 16 bits of a number, with their sign."""
    return body.cast("extsi", body.cast("trunci", x, ("i32", "i16")), ("i16", "i32"))


def _rounded(body: Body, x: str) -> str:
    return _narrow(body, body.op("shrsi", body.plus(x, 1 << 14), body.number(15)))


def _divided(body: Body, x: _Pair, by: int) -> _Pair:
    real, imaginary = (_rounded(body, body.op("muli", part, body.number(_ONE // by))) for part in x)
    return real, imaginary


def _sum(body: Body, a: _Pair, b: _Pair) -> _Pair:
    return _narrow(body, body.add(a[0], b[0])), _narrow(body, body.add(a[1], b[1]))


def _difference(body: Body, a: _Pair, b: _Pair) -> _Pair:
    real, imaginary = (body.op("subi", *parts) for parts in zip(a, b, strict=True))
    return _narrow(body, real), _narrow(body, imaginary)


def _product(body: Body, a: _Pair, b: _Pair) -> _Pair:
    real = body.op("subi", body.op("muli", a[0], b[0]), body.op("muli", a[1], b[1]))
    imaginary = body.add(body.op("muli", a[0], b[1]), body.op("muli", a[1], b[0]))
    return _rounded(body, real), _rounded(body, imaginary)
