"""LOGISTIC and TANH inside an LSTM of int8: LiteRT's reference kernel computes them in fixed point with 16 bits.

A number has some bits before the point, and the others of 15 behind it. exp of a negative number is a polynomial
between -1/4 and 0, times a constant for each bit of the rest (-1/4, -1/2, -1 ...). A quotient takes three steps of
Newton's method.
"""

from __future__ import annotations

import numpy as np

# exp(-2^n) for n from -2, with 15 bits behind the point.
_EXPS = {-2: 25520, -1: 19875, 0: 12055, 1: 4435, 2: 600, 3: 11, 4: 0}
_EXP_EIGHTH, _THIRD = 28918, 10923
# 48/17 and -32/17, with 13 bits behind the point, and 1.
_START, _SLOPE, _ONE = 23130, -15420, 1 << 13
_MOST = 2**15 - 1


class Body:
    """Lines of MLIR that compute with i32; values are names with %."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._constants: dict[tuple[int, str], str] = {}

    def op(self, name: str, *operands: str, kind: str = "i32") -> str:
        return self.line(f"arith.{name} {', '.join(operands)} : {kind}")

    def line(self, text: str) -> str:
        self.lines.append(f"    %v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def number(self, value: int, kind: str = "i32") -> str:
        if (value, kind) not in self._constants:
            self._constants[value, kind] = self.line(f"arith.constant {value} : {kind}")
        return self._constants[value, kind]

    def real(self, value: float) -> str:
        """Returns a number of f32."""
        number = np.float32(value)
        text = f"{number:.9e}" if np.isfinite(number) else f"0x{number.view(np.uint32):08X}"
        return self.line(f"arith.constant {text} : f32")

    def cast(self, name: str, x: str, kinds: tuple[str, str]) -> str:
        return self.line(f"arith.{name} {x} : {kinds[0]} to {kinds[1]}")

    def select(self, condition: str, then: str, otherwise: str) -> str:
        return self.line(f"arith.select {condition}, {then}, {otherwise} : i32")

    def entry(self, table: str, kind: str, place: str) -> str:
        """Returns the element of a tensor of one dimension; its name has no %."""
        index = self.line(f"arith.index_cast {place} : i32 to index")
        return self.line(f"tensor.extract %{table}[{index}] : {kind}")

    def add(self, a: str, b: str) -> str:
        return self.op("addi", a, b)

    def plus(self, a: str, number: int) -> str:
        return self.op("addi", a, self.number(number))

    def minus(self, number: int, a: str) -> str:
        return self.op("subi", self.number(number), a)

    def limit(self, x: str, low: int, high: int) -> str:
        return self.op("minsi", self.op("maxsi", x, self.number(low)), self.number(high))

    def fitted(self, x: str, kind: str) -> str:
        """Returns an integer of fewer bits, saturated."""
        most = 2 ** (int(kind[1:]) - 1) - 1
        return self.cast("trunci", self.limit(x, -most - 1, most), ("i32", kind))

    def saturate(self, x: str) -> str:
        return self.limit(x, -_MOST - 1, _MOST)

    def product(self, a: str, b: str) -> str:
        """Returns a product with 15 bits behind the point more than its factors have together, rounded."""
        up = self.plus(self.op("muli", a, b), 1 << 14)
        return self.op("minsi", self.op("shrsi", up, self.number(15)), self.number(_MOST))

    def divided(self, x: str, bits: int) -> str:
        """Returns x / 2^bits, ties away from zero."""
        if not bits:
            return x
        sign = self.op("shrsi", x, self.number(31))
        up = self.add(self.plus(x, 1 << (bits - 1)), sign)
        return self.op("shrsi", up, self.number(bits))

    def divided_by(self, x: str, bits: str) -> str:
        """Returns x / 2^bits, ties away from zero, for bits from 0 to 31."""
        wide, count = (self.cast("extsi", each, ("i32", "i64")) for each in (x, bits))
        one = self.number(1, "i64")
        power = self.op("shli", one, count, kind="i64")
        half = self.op("shrsi", power, one, kind="i64")
        sign = self.op("shrsi", wide, self.number(63, "i64"), kind="i64")
        # Nothing is rounded without bits.
        sign = self.op(
            "maxsi", sign, self.op("subi", self.number(0, "i64"), half, kind="i64"), kind="i64"
        )
        up = self.op("addi", self.op("addi", wide, half, kind="i64"), sign, kind="i64")
        return self.cast("trunci", self.op("shrsi", up, count, kind="i64"), ("i64", "i32"))

    def doubled_high(self, a: str, b: str) -> str:
        """Returns a * b / 2^31, rounded to the nearest."""
        wide = [self.cast("extsi", each, ("i32", "i64")) for each in (a, b)]
        up = self.op(
            "addi", self.op("muli", *wide, kind="i64"), self.number(1 << 30, "i64"), kind="i64"
        )
        return self.cast(
            "trunci", self.op("shrsi", up, self.number(31, "i64"), kind="i64"), ("i64", "i32")
        )

    def raised(self, x: str, bits: int) -> str:
        """Returns 2^bits times an i32, saturated to 32 bits."""
        most = (2**31 - 1) >> bits
        is_high = self._is("sgt", x, most)
        is_low = self._is("slt", x, -most - 1)
        made = self.op("shli", x, self.number(bits))
        made = self.select(is_high, self.number(2**31 - 1), made)
        return self.select(is_low, self.number(-(2**31)), made)

    def shifted(self, x: str, bits: int) -> str:
        """Returns 2^bits times x, saturated."""
        return self.saturate(self.op("shli", x, self.number(bits)))

    def scaled(self, x: str, multiplier: int, shift: int) -> str:
        """Returns x times a multiplier of 31 bits, shifted to the right; it is rounded twice, as int8 is."""
        wide = self.cast("extsi", x, ("i32", "i64"))
        if shift < 31:
            wide = self.op("shli", wide, self.number(31 - shift, "i64"), kind="i64")
        wide = self.op("muli", wide, self.number(multiplier, "i64"), kind="i64")
        wide = self.op("addi", wide, self.number(1 << 30, "i64"), kind="i64")
        wide = self.op("shrsi", wide, self.number(31, "i64"), kind="i64")
        return self.divided(self.cast("trunci", wide, ("i64", "i32")), max(0, shift - 31))

    def logistic(self, x: str, bits: int) -> str:
        """Returns LOGISTIC, without a bit before the point, of a number with `bits` before it."""
        half = self._half_of_one_plus(self._exp(self._negative(x), bits))
        above = self.shifted(self._inverse(half), 1)
        made = self.select(self._is("slt", x, 0), self.minus(_MOST, above), above)
        return self.select(self._is("eq", x, 0), self.number(1 << 14), made)

    def tanh(self, x: str, bits: int) -> str:
        """Returns TANH likewise."""
        # exp of twice the number: the same bits, one more of them before the point.
        half = self._half_of_one_plus(self._exp(self._negative(x), bits + 1))
        above = self.shifted(self.plus(self._inverse(half), -_ONE), 2)
        made = self.select(self._is("slt", x, 0), self.minus(0, above), above)
        return self.select(self._is("eq", x, 0), self.number(0), made)

    def _negative(self, x: str) -> str:
        return self.op("minsi", x, self.minus(0, x))

    def _is(self, predicate: str, x: str, number: int) -> str:
        return self.line(f"arith.cmpi {predicate}, {x}, {self.number(number)} : i32")

    def _exp(self, x: str, bits: int) -> str:
        """Returns exp of a number that is not above zero."""
        behind = 15 - bits
        quarter = 1 << (behind - 2)
        part = self.plus(self.op("andi", x, self.number(quarter - 1)), -quarter)
        made = self._exp_of_part(self.shifted(part, bits))
        rest = self.op("subi", part, x)
        for exponent, factor in _EXPS.items():
            if exponent < bits:
                bit = self.op("andi", rest, self.number(1 << (behind + exponent)))
                times = self.product(made, self.number(factor))
                made = self.select(self._is("ne", bit, 0), times, made)
        if bits > 5:
            made = self.select(self._is("slt", x, -(32 << behind)), self.number(0), made)
        return self.select(self._is("eq", x, 0), self.number(_MOST), made)

    def _exp_of_part(self, x: str) -> str:
        """Returns exp between -1/4 and 0, as exp(-1/8) times a polynomial around it."""
        x = self.plus(x, 1 << 12)
        x2 = self.product(x, x)
        x3, x4 = self.product(x2, x), self.product(x2, x2)
        last = self.product(self.add(self.divided(x4, 2), x3), self.number(_THIRD))
        more = self.divided(self.add(last, x2), 1)
        times = self.product(self.number(_EXP_EIGHTH), self.add(x, more))
        return self.saturate(self.plus(times, _EXP_EIGHTH))

    def _half_of_one_plus(self, x: str) -> str:
        return self.op("shrsi", self.plus(x, _MOST + 1), self.number(1))

    def _inverse(self, half: str) -> str:
        """Returns 1 / half, with 13 bits behind the point."""
        x = self.plus(self.product(half, self.number(_SLOPE)), _START)
        for _ in range(3):
            error = self.minus(_ONE, self.product(half, x))
            x = self.add(x, self.shifted(self.product(x, error), 2))
        return x
