"""The fewest instructions that a dispatch could take, and the class that it belongs to (docs/performance.md)."""

from __future__ import annotations

import math
import re

from bmc.report import Command, Dispatch

# The best kernel of an ordinary vector unit: one group of eight registers of weights, and three of sums.
LMUL = 8
ROWS = 3
# For each group of weights: its load, and a scalar load and a multiply-add for each row.
_INSTRUCTIONS = 1 + 2 * ROWS
_BITS = re.compile(r"\d+")
_DIMENSIONS = re.compile(r"(?<=_)\d+(?:x\d+)+(?=_|x)")
_FEW_CHANNELS = 4
# Windows are not longer, and images whose window is along one axis have more channels.
_MOST_TAPS = 15


def of_products(macs: int, accumulator: str, vlen: int) -> float:
    """Returns the bound for multiply-accumulates.

    Args:
      macs: how many.
      accumulator: MLIR's name for the type of their sums, such as "f32" or "i32".
      vlen: bits of a vector register.
    """
    lanes = LMUL * vlen / bits(accumulator)
    return macs * _INSTRUCTIONS / (ROWS * lanes)


def of_bytes(count: int, vlen: int) -> float:
    """Returns the bound for bytes that are read or written, with eight registers at a time."""
    return count / (LMUL * vlen / 8)


def bits(element: str) -> int:
    """Returns the width of an element type by MLIR's name; a bool takes a byte."""
    found = _BITS.search(element)
    return max(8, int(found[0])) if found else 64


def operand_bytes(dispatch: Dispatch) -> int:
    """Returns the bytes of all tensors that a kernel reads or writes, each once."""
    return sum(
        math.prod(operand.shape) * bits(operand.dtype) // 8
        for operand in dispatch.operands
        if operand.shape is not None
    )


def of_command(command: Command, dispatch: Dispatch | None, vlen: int) -> float:
    """Returns the bound of a command of a plan; `dispatch` is its kernel, None for a fill or a copy."""
    if dispatch is None:
        return of_bytes(command.bytes, vlen)
    if dispatch.macs:
        return of_products(dispatch.macs, dispatch.accumulator, vlen)
    return of_bytes(operand_bytes(dispatch), vlen)


def class_of(command: Command, dispatch: Dispatch | None) -> str:
    """Names the class of a command, by which excess is summed up."""
    if dispatch is None:
        return command.kind
    op = dispatch.op
    kind = re.split(r"_\d", op, maxsplit=1)[0]
    if not dispatch.macs:
        return (
            "pooling" if kind == "conv" else "copy with a layout" if kind == "slow_memcpy" else kind
        )
    if kind.startswith("conv"):
        sizes = _DIMENSIONS.search(op)
        count = sizes[0].split("x") if sizes else []
        if len(count) == 5:
            # Two windows, or one and the channels of the image.
            is_depthwise = int(count[-1]) <= _MOST_TAPS
            return "depthwise convolution" if is_depthwise else "convolution along one axis"
        if count and int(count[-1]) <= _FEW_CHANNELS:
            return f"convolution of {_FEW_CHANNELS} channels or fewer"
        window = "x".join(count[-3:-1])
        return f"convolution {window}".strip()
    if "vec" in kind:
        return "matrix times vector"
    return "matrix product" if "matmul" in kind else kind
