"""Element types, by name: f32, i32, f16, bf16, i16 and i8."""

from __future__ import annotations

from dataclasses import dataclass

# Bits of an element.
BITS = {"f32": 32, "i32": 32, "f16": 16, "bf16": 16, "i16": 16, "i8": 8}
# Bytes of an element.
WIDTHS = {dtype: bits // 8 for dtype, bits in BITS.items()}
# Types of operands that MLIR has. i16 is not one of them: only widened int8 (schedule/widen.py,
# rewrites/weights/wide_weights.py) and the bits of f16 with which weights are packed (ir/grouped_product.py) are i16.
TYPES = ("f32", "f16", "bf16", "i32", "i8")
# The instruction that loads one number into a scalar register.
SCALAR_LOADS = {"f32": "flw", "f16": "flh", "bf16": "flh", "i32": "lw", "i8": "lb"}


@dataclass(frozen=True, slots=True)
class Half:
    """Mnemonics that convert between a float type of 16 bits and f32.

    Attributes:
      extend_number: a scalar register.
      extend: a vector, whose result has twice as many registers.
      truncate: a vector, rounded to nearest, ties to even.
    """

    extend_number: str
    extend: str
    truncate: str


HALVES = {
    "f16": Half("fcvt.s.h", "vfwcvt.f.f.v", "vfncvt.f.f.w"),
    "bf16": Half("fcvt.s.bf16", "vfwcvtbf16.f.f.v", "vfncvtbf16.f.f.w"),
}
FLOATS = ("f32", *HALVES)
