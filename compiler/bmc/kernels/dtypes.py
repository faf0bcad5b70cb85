"""Element types, by name: f32, i32, f16, i16 and i8."""

from __future__ import annotations

# Bits of an element.
BITS = {"f32": 32, "i32": 32, "f16": 16, "i16": 16, "i8": 8}
# Bytes of an element.
WIDTHS = {dtype: bits // 8 for dtype, bits in BITS.items()}
# Types of operands that MLIR has. i16 is not one of them: only widened int8 is i16 (schedule/widen.py,
# rewrites/weights/wide_weights.py).
TYPES = ("f32", "f16", "i32", "i8")
FLOATS = ("f32", "f16")
# The instruction that loads one number into a scalar register.
SCALAR_LOADS = {"f32": "flw", "f16": "flh", "i32": "lw", "i8": "lb"}
