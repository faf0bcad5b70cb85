"""Element types, by name: f32, i32, f16, i16, i8 and i4.

Numbers of i4 are weights of matrix products, -8 to 7, two in a byte. A lane has 32 neighbors of the sum in a group of
16 bytes, and a byte has two neighbors, the first one in its low half. Bytes of neighboring lanes are neighbors:

    byte [group, pair, lane] = weight [32 group + 2 pair, lane] & 15 | weight [32 group + 2 pair + 1, lane] << 4

So one load reads a vector of lanes for two steps of the sum, whatever VLEN is, and shifts widen them. 32 products of an
int8 and an int4 are the most that 16 bits hold (schedule/int4.py). In a Product, the last loop that is summed runs over
the halves of a byte: it has the extent 2, and does not move `b`.
"""

from __future__ import annotations

# Bits of an element.
BITS = {"f32": 32, "i32": 32, "f16": 16, "i16": 16, "i8": 8, "i4": 4}
# Bytes of an element, of types that have whole ones.
WIDTHS = {dtype: bits // 8 for dtype, bits in BITS.items() if bits % 8 == 0}
# Types of operands that MLIR has. i16 is not one of them: only widened int8 is i16 (schedule/widen.py,
# rewrites/weights/wide_weights.py). Neither is i4.
TYPES = ("f32", "f16", "i32", "i8")
FLOATS = ("f32", "f16")
# The instruction that loads one number into a scalar register.
SCALAR_LOADS = {"f32": "flw", "f16": "flh", "i32": "lw", "i8": "lb"}
