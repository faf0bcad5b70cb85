"""Epilogues that are TensorFlow Lite's requantization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bmc.kernels.product import Node
from bmc.libraries.call import Packed
from bmc.libraries.dispatch import Array, Dispatch, Operand


@dataclass(frozen=True)
class Requantization:
    """How a sum becomes an int8: limited(((sum + bias) * multiplier / 2^31 [- 1]) / 2^shift + zero).

    Both divisions round to nearest, and up in the middle. Numbers are operands with one for each output, or the same
    for all of them.

    Attributes:
      bias, multiplier, shift: i32.
      is_down: whether 1 is subtracted before the shift where sum + bias is negative.
      zero, low, high: added, and the limits of the result.
    """

    bias: Operand | int
    multiplier: Operand | int
    shift: Operand | int
    is_down: bool
    zero: int
    low: int
    high: int


def requantization(dispatch: Dispatch, output_loop: int) -> Requantization | None:
    """Returns how the epilogue makes an int8 of a sum, None if it does anything else.

    Args:
      dispatch: a product.
      output_loop: the number of the loop over outputs, -1 if there is one output.
    """
    nodes = dispatch.epilogue
    if not nodes or dispatch.result.dtype != "i8" or nodes[-1].op != "clipped":
        return None
    value, shift, *limits = (nodes[arg] for arg in nodes[-1].args)
    is_down = value.op == "addi"
    if is_down:
        value, sign = (nodes[arg] for arg in value.args)
        if not (sign.op == "shrsi" and _is(nodes, sign, "sum", 31)):
            return None
    if value.op != "scaled" or nodes[value.args[0]].op != "sum":
        return None
    multiplier, amount = (_number(dispatch, node) for node in (nodes[value.args[1]], shift))
    if multiplier is None or amount is None or any(node.op != "constant" for node in limits):
        return None
    bias = dispatch.initial or 0
    if not all(_is_per_output(each, output_loop) for each in (bias, multiplier, amount)):
        return None
    zero, low, high = (int(node.value) for node in limits)
    return Requantization(bias, multiplier, amount, is_down, zero, low, high)


def per_output(
    number: Operand | int, count: int, multiple: int = 1, copies: int = 1, factor: int = 1
) -> Packed | Array:
    """Returns a number of a requantization as an i32 array for a call.

    Args:
      number: operand or constant.
      count: of outputs.
      multiple: of which the array has outputs; those behind `count` are 0.
      copies: of each number.
      factor: by which it is multiplied.
    """

    def pack(values: Array) -> Array:
        padded = np.zeros(-(-count // multiple) * multiple, np.int32)
        padded[:count] = factor * np.asarray(values, np.int32).reshape(-1)
        return padded.repeat(copies)

    if isinstance(number, int):
        return pack(np.asarray(number))
    return Packed(number, pack) if number.values is None else pack(number.values)


def _is(nodes: tuple[Node, ...], node: Node, first: str, second: int) -> bool:
    """Whether the arguments of a node are an operation and a constant."""
    left, right = (nodes[arg] for arg in node.args)
    return left.op == first and right.op == "constant" and right.value == second


def _number(dispatch: Dispatch, node: Node) -> Operand | int | None:
    if node.op == "constant":
        return int(node.value)
    return dispatch.operands[node.operand] if node.op == "load" else None


def _is_per_output(number: Operand | int, output_loop: int) -> bool:
    """Whether a number is the same for all results of an output, and in 32 bits."""
    if isinstance(number, int):
        return True
    moving = {loop for loop, step in enumerate(number.steps) if step}
    return (
        number.dtype == "i32"
        and moving <= {output_loop}
        and all(number.steps[i] == 1 for i in moving)
    )
