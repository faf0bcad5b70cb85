"""How the numbers of a product are multiplied: one row for each combination of types."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.kernels.dtypes import BITS, FLOATS


@dataclass(frozen=True, slots=True)
class Scheme:
    """One combination.

    Attributes:
      a: type in memory of the operand that is broadcast, or has lanes as well.
      b: type in memory of the operand that is loaded as a vector.
      factor: type of both as they are multiplied.
      accumulator: type of the sums.
      multiply: mnemonic that multiplies, and adds to sums.
    """

    a: str
    b: str
    factor: str
    accumulator: str
    multiply: str

    @property
    def is_float(self) -> bool:
        return self.factor in FLOATS

    @property
    def bits(self) -> int:
        """Bits of a sum, and of what is computed from it."""
        return BITS[self.accumulator]

    @property
    def widens(self) -> bool:
        """Whether sums are wider than what is multiplied."""
        return BITS[self.accumulator] > BITS[self.factor]

    @property
    def extends_a(self) -> bool:
        """Whether `a` becomes wider when it is loaded, by an instruction of its own."""
        return self.is_float and self.a != self.factor

    @property
    def extends_floats(self) -> bool:
        """Whether floats of `b` become wider when they are loaded."""
        return self.is_float and BITS[self.b] < BITS[self.factor]

    @property
    def extends_integers(self) -> bool:
        """Whether integers of `b` become wider when they are loaded."""
        return not self.is_float and BITS[self.b] < BITS[self.factor]


SCHEMES = {
    (each.a, each.b, each.accumulator): each
    for each in (
        Scheme("f32", "f32", "f32", "f32", "vfmacc"),
        Scheme("f16", "f16", "f16", "f16", "vfmacc"),
        Scheme("f16", "f16", "f16", "f32", "vfwmacc"),
        Scheme("f16", "f32", "f32", "f32", "vfmacc"),
        Scheme("f32", "f16", "f32", "f32", "vfmacc"),
        Scheme("i8", "i8", "i16", "i32", "vwmacc"),
        Scheme("i8", "i16", "i16", "i32", "vwmacc"),
        # Products are added up in 16 bits, and sums of 32 of them in 32 (schedule/int4.py).
        Scheme("i8", "i4", "i8", "i32", "vwmacc"),
    )
}
