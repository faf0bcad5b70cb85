"""Makes int16 of sums, as MLIR text of a function.

LiteRT's reference kernels scale sums of products of int16 in one of three ways:

- by a multiplier of 16 bits and a shift, (sum * multiplier + half) >> shift;
- FULLY_CONNECTED by a double, with ties away from zero; here, integers multiply its 53 bits in two parts;
- sums that the file wants in 32 bits, except for those of FULLY_CONNECTED, as int8 is scaled.
"""

from __future__ import annotations

import numpy as np

from bmc.dtype import Array
from bmc.frontends import tflite_text
from bmc.frontends.tflite_text import constant, tensor

# A double has 53 bits. With sums of 36 bits, the products with both parts of it fit into an i64.
_LOW, _HIGH = 27, 26
LARGEST = 2**36


def by_integers(shape: list[int], scales: Array, *, in_32_bits: bool) -> str:
    """Returns TOSA's operation for sums of 32 bits; with in_32_bits, these are scaled as for int8."""
    multipliers, shifts = tflite_text.multipliers(scales, 31 if in_32_bits else 15)
    rounding = tflite_text.DOUBLE_ROUND if in_32_bits else tflite_text.SINGLE_ROUND
    given, made = tensor(shape, "i32"), tensor(shape, "i16")
    scaled = tflite_text.rescale(
        "scaled", "sums", shape, ("i32", "i16"), multipliers, shifts, rounding
    )
    return f"""
func.func @scaled(%sums: {given}) -> {made} {{
{scaled}
  return %scaled : {made}
}}"""


def by_wide_integers(shape: list[int], scales: Array) -> str:
    """Returns a loop over sums of 64 bits, which are scaled by a multiplier of 16 bits and a shift."""
    multipliers, shifts = tflite_text.multipliers(scales, 15)
    body = """
    %product = arith.muli %sum, %m : i64
    %one = arith.constant 1 : i64
    %before = arith.subi %s, %one : i64
    %half = arith.shli %one, %before : i64
    %up = arith.addi %product, %half : i64
    %scaled = arith.shrsi %up, %s : i64
    %low = arith.constant -32768 : i64
    %clamped = arith.maxsi %scaled, %low : i64"""
    return _elementwise(shape, 64, {"m": multipliers, "s": shifts}, body)


def by_double(shape: list[int], bits: int, scales: Array) -> str:
    """Returns a loop over sums of 32 or 64 bits, which are smaller than LARGEST."""
    fractions, exponents = np.frexp(scales)
    whole = (fractions * 2.0 ** (_HIGH + _LOW)).astype(np.int64)
    shifts = _HIGH - exponents
    # Shifts of more bits than there are; every sum becomes zero.
    whole, shifts = np.where(shifts > 62, 0, whole), np.minimum(shifts, 62)
    widened = "arith.extsi %sum : i32 to i64" if bits == 32 else "arith.addi %sum, %zero : i64"
    body = f"""
    %zero = arith.constant 0 : i64
    %x = {widened}
    %is_negative = arith.cmpi slt, %x, %zero : i64
    %opposite = arith.subi %zero, %x : i64
    %size = arith.select %is_negative, %opposite, %x : i64
    %upper = arith.muli %size, %h : i64
    %lower = arith.muli %size, %l : i64
    %bits = arith.constant {_LOW} : i64
    %carry = arith.shrsi %lower, %bits : i64
    %product = arith.addi %upper, %carry : i64
    %one = arith.constant 1 : i64
    %before = arith.subi %s, %one : i64
    %half = arith.shli %one, %before : i64
    %up = arith.addi %product, %half : i64
    %scaled = arith.shrsi %up, %s : i64
    %least = arith.constant 32768 : i64
    %small = arith.minsi %scaled, %least : i64
    %negated = arith.subi %zero, %small : i64
    %clamped = arith.select %is_negative, %negated, %small : i64"""
    numbers = {"h": whole >> _LOW, "l": whole & (2**_LOW - 1), "s": shifts}
    return _elementwise(shape, bits, numbers, body)


def _elementwise(shape: list[int], bits: int, numbers: dict[str, Array], body: str) -> str:
    """Returns a loop over sums of so many bits.

    Args:
      shape: theirs.
      bits: theirs.
      numbers: constants by name, one per channel or one for all.
      body: makes an i64, %clamped, of the sum and numbers. It is at least -32768.
    """
    given, made = tensor(shape, f"i{bits}"), tensor(shape, "i16")
    loops = ", ".join(f"d{axis}" for axis in range(len(shape)))
    (count,) = next(iter(numbers.values())).shape
    channel = f"d{len(shape) - 1}" if count > 1 else "0"
    kind = tensor([count], "i64")
    constants = "".join(
        f"\n  %{name}s = {constant(each.astype(np.int64))}" for name, each in numbers.items()
    )
    one_each = f"affine_map<({loops}) -> ({channel})>"
    identity = f"affine_map<({loops}) -> ({loops})>"
    maps = [identity, *[one_each] * len(numbers), identity]
    return f"""
func.func @scaled(%sums: {given}) -> {made} {{{constants}
  %empty = tensor.empty() : {made}
  %made = linalg.generic {{indexing_maps = [{", ".join(maps)}],
    iterator_types = [{", ".join(['"parallel"'] * len(shape))}]}}
    ins(%sums, {", ".join(f"%{name}s" for name in numbers)} : {given}, {", ".join([kind] * len(numbers))})
    outs(%empty : {made}) {{
  ^element(%sum: i{bits}, {", ".join(f"%{name}: i64" for name in numbers)}, %old: i16):{body}
    %most = arith.constant 32767 : i64
    %fitting = arith.minsi %clamped, %most : i64
    %result = arith.trunci %fitting : i64 to i16
    linalg.yield %result : i16
  }} -> {made}
  return %made : {made}
}}"""
