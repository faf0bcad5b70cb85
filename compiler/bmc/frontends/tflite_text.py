"""Operations that are written as MLIR text, in place of operations that the converter to TOSA made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bmc.dtype import Array

SINGLE_ROUND, DOUBLE_ROUND = "SINGLE_ROUND", "DOUBLE_ROUND"


def insert(before: Any, text: str, operands: Sequence[Any]) -> Any:
    """Returns the result of what insert_all() inserts."""
    (result,) = insert_all(before, text, operands)
    return result


def insert_all(before: Any, text: str, operands: Sequence[Any]) -> list[Any]:
    """Inserts operations in front of another, with its location; returns their results.

    Args:
      before: the other.
      text: a function, as MLIR.
      operands: its arguments.
    """
    from iree.compiler import ir

    module = ir.Module.parse(text, before.context)  # owns the operations
    block = module.body.operations[0].regions[0].blocks[0]
    for argument, value in zip(block.arguments, operands, strict=True):
        argument.replace_all_uses_with(value)
    *made, end = (each.operation for each in block.operations)
    for each in made:
        each.move_before(before)
        each.location = before.location
    return list(end.operands)


def replace(op: Any, text: str, operands: Sequence[Any]) -> Any:
    """Replaces an operation of one result by what insert() makes; returns the new result."""
    result = insert(op, text, operands)
    op.results[0].replace_all_uses_with(result)
    op.erase()
    return result


def tensor(shape: Sequence[int], element: str) -> str:
    """Returns the type of a tensor."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def element(values: Array) -> str:
    """Returns the type of the elements of an array of floats or integers."""
    return f"{'f' if values.dtype.kind == 'f' else 'i'}{8 * values.itemsize}"


def constant(values: Array) -> str:
    """Returns a constant operation, without a name."""
    return f"arith.constant {_dense(values)}"


def tosa_constant(values: Array) -> str:
    """Returns such a constant of TOSA's own, which TOSA's operations need for some of their operands."""
    return f'"tosa.const"() <{{values = {_dense(values)}}}> : () -> {_kind(values)}'


def rescale(
    name: str,
    of: str,
    shape: Sequence[int],
    types: tuple[str, str],
    multipliers: Array,
    shifts: Array,
    rounding: str,
    *,
    zero_point: int = 0,
) -> str:
    """Returns operations that make an integer of another, multiplied, shifted to the right and saturated.

    Args:
      name: name of the result, without %.
      of: name of what is scaled, likewise.
      shape: of both.
      types: types of the elements before and after.
      multipliers, shifts: one per channel or one for all.
      rounding: SINGLE_ROUND or DOUBLE_ROUND.
      zero_point: what is added before it is saturated, for i8.
    """
    given, made = (tensor(shape, element) for element in types)
    points: list[Array] = [
        np.full(1, point, f"int{element[1:]}")
        for point, element in zip((0, zero_point), types, strict=True)
    ]
    numbers: list[Array] = [multipliers.astype(np.int32), shifts.astype(np.int8), *points]
    lines = [f"  %{name}_n{i} = {tosa_constant(each)}" for i, each in enumerate(numbers)]
    return "\n".join(
        (
            *lines,
            f'  %{name} = "tosa.rescale"(%{of}, {", ".join(f"%{name}_n{i}" for i in range(4))}) <{{'
            "input_unsigned = false, output_unsigned = false,"
            f" per_channel = {str(multipliers.size > 1).lower()},"
            f" rounding_mode = #tosa.rounding_mode<{rounding}>, scale32 = true}}>"
            f" : ({', '.join((given, *map(_kind, numbers)))}) -> {made}",
        )
    )


def multipliers(scales: Array, bits: int) -> tuple[Array, Array]:
    """Returns LiteRT's multipliers for these scales, which are below 2^bits for 31 or 15, and shifts to the right."""
    fractions, exponents = np.frexp(scales.astype(np.float64))
    whole = np.floor(fractions * 2.0**31 + 0.5).astype(np.int64)
    exponents = np.where(whole == 2**31, exponents + 1, exponents)
    whole = np.where(whole == 2**31, 2**30, whole)
    # A scale that is too small for LiteRT makes zeros.
    whole, exponents = np.where(exponents < -31, 0, whole), np.maximum(exponents, -31)
    if bits == 15:
        whole = np.minimum((whole + 2**15) >> 16, 2**15 - 1)
    return whole, bits - exponents


def _kind(values: Array) -> str:
    return tensor(values.shape, element(values))


def _dense(values: Array) -> str:
    return f'dense<"0x{values.tobytes().hex().upper()}"> : {_kind(values)}'
