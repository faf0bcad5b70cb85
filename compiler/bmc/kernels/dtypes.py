"""The types of numbers in memory."""

from __future__ import annotations

# Bits of an element. One of i8x4 is a word of four int8 that are neighbors in memory.
BITS = {"f32": 32, "i32": 32, "i8x4": 32, "f16": 16, "i16": 16, "i8": 8}
# Bytes of an element, of types that have whole ones.
WIDTHS = {dtype: bits // 8 for dtype, bits in BITS.items()}
# Types of operands. In i16 there are only weights of int8 (rewrites/wide_weights.py), in i8x4 only the factors of a
# product in words (problem/product.py).
TYPES = ("f32", "f16", "i32", "i8")
FLOATS = ("f32", "f16")
