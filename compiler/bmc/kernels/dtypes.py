"""Element types, by name, and the types in which two of them are multiplied and accumulated."""

from __future__ import annotations

from dataclasses import dataclass

# Bits of an element.
BITS = {"f32": 32, "i32": 32, "f16": 16, "bf16": 16, "i16": 16, "i8": 8}
# Bytes of an element.
WIDTHS = {dtype: bits // 8 for dtype, bits in BITS.items()}
# Types of operands that MLIR has. i16 is not one of them: only widened int8 (schedule/widen.py,
# rewrites/weights/wide_weights.py) and the bits of f16 with which weights are packed (ir/grouped_product.py) are i16.
TYPES = ("f32", "f16", "bf16", "i32", "i8")
# Float types of 16 bits.
HALVES = ("f16", "bf16")
FLOATS = ("f32", *HALVES)


@dataclass(frozen=True, slots=True)
class Scheme:
    """A combination of types.

    Attributes:
      a, b: types of the operands in memory.
      factor: type of both operands when they are multiplied.
      accumulator: type of the accumulators.
      multiply: mnemonic of the multiply-accumulate instruction.
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
        """Bits of an element of accumulators and of the epilogue."""
        return BITS[self.accumulator]

    @property
    def widens(self) -> bool:
        """Whether the multiply-accumulate instruction widens."""
        return BITS[self.accumulator] > BITS[self.factor]

    @property
    def extends_a(self) -> bool:
        """Whether scalars of `a` need an instruction that widens them after the load."""
        return self.is_float and self.a != self.factor

    @property
    def extends_floats(self) -> bool:
        """Whether `b` is floats that are widened after the load."""
        return self.is_float and BITS[self.b] < BITS[self.factor]

    @property
    def extends_integers(self) -> bool:
        """Whether `b` is integers that are widened after the load."""
        return not self.is_float and BITS[self.b] < BITS[self.factor]


# One row for each supported combination.
SCHEMES = (
    Scheme("f32", "f32", "f32", "f32", "vfmacc"),
    Scheme("f16", "f16", "f16", "f16", "vfmacc"),
    Scheme("f16", "f16", "f16", "f32", "vfwmacc"),
    Scheme("f16", "f32", "f32", "f32", "vfmacc"),
    Scheme("f32", "f16", "f32", "f32", "vfmacc"),
    Scheme("bf16", "bf16", "bf16", "f32", "vfwmaccbf16"),
    Scheme("bf16", "bf16", "f32", "f32", "vfmacc"),
    Scheme("bf16", "f32", "f32", "f32", "vfmacc"),
    Scheme("f32", "bf16", "f32", "f32", "vfmacc"),
    Scheme("i8", "i8", "i16", "i32", "vwmacc"),
    Scheme("i8", "i16", "i16", "i32", "vwmacc"),
)
# Packed weights are multiplied as f32 (schedule/grouped.py).
UNPACKED = Scheme("f32", "f32", "f32", "f32", "vfmacc")
