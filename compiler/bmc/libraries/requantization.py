"""Epilogues that make an int8 of a sum as TensorFlow Lite does: times a multiplier, divided by a power of two."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bmc.kernels.problem.product import Node
from bmc.libraries.call import Packed
from bmc.libraries.dispatch import Array, Dispatch, Operand

Number = Operand | int


@dataclass(frozen=True)
class Scale:
    """value * multiplier / 2^31, to nearest, and 1 less if `is_down` and the value is negative; / 2^shift, to nearest.

    If `up` is not 0, it begins with value * 2^up * multiplier / 2^32, down, instead. `multiplier` and `shift` are
    operands, or the same for all outputs.
    """

    multiplier: Number
    shift: Number
    is_down: bool = False
    up: int = 0


@dataclass(frozen=True)
class Requantization:
    """The sum plus `bias`, scaled, plus `zero`, limited by `low` and `high`."""

    bias: Number
    scale: Scale
    zero: int
    low: int
    high: int


@dataclass(frozen=True)
class Term:
    """(value - zero) << up, scaled if there is a scale."""

    zero: int
    up: int
    scale: Scale | None


@dataclass(frozen=True)
class Addition:
    """Two int8 as terms of a sum, which becomes an int8 again.

    Attributes:
      first: makes an int8 of the dispatch's sum.
      a: the term that this int8 is.
      other: an operand that is read where the result is stored.
      b: the term that it is.
      total: makes the result of both.
    """

    first: Requantization
    a: Term
    other: Operand
    b: Term
    total: Requantization


def requantization(dispatch: Dispatch) -> Requantization | None:
    """Returns how the epilogue makes an int8 of a sum, None if it does anything else."""
    return _Reader(dispatch).requantization()


def requantization_by_output(dispatch: Dispatch, output: int) -> Requantization | None:
    """Returns the same if all numbers are per output, a loop of the dispatch, and `up` is 0."""
    found = requantization(dispatch)
    if found is None or found.scale.up:
        return None
    numbers = (found.bias, found.scale.multiplier, found.scale.shift)
    return found if all(is_per_output(dispatch, each, output) for each in numbers) else None


def addition(dispatch: Dispatch) -> Addition | None:
    """Returns how the epilogue makes an int8 of a sum and adds another one, None if it does anything else."""
    return _Reader(dispatch).addition()


def is_per_output(dispatch: Dispatch, number: Number, output: int) -> bool:
    """Whether a number is the same for all results of an output, a loop of the dispatch, and in 32 bits."""
    if isinstance(number, int):
        return True
    moving = {
        loop for loop, step in enumerate(number.steps) if step and dispatch.loops[loop].extent > 1
    }
    return (
        number.dtype == "i32" and moving <= {output} and all(number.steps[i] == 1 for i in moving)
    )


def per_output(
    number: Number, count: int, multiple: int = 1, copies: int = 1, factor: int = 1
) -> Packed | Array:
    """Returns an array of i32, or how it is made of a weight.

    Args:
      number: one for each output, or the same for all.
      count: of outputs.
      multiple: zeros follow up to a multiple of so many.
      copies: of each number.
      factor: what each is multiplied by.
    """

    def pack(values: Array) -> Array:
        padded = np.zeros(-(-count // multiple) * multiple, np.int32)
        padded[:count] = factor * np.asarray(values, np.int32).reshape(-1)
        return padded.repeat(copies)

    if isinstance(number, int):
        return pack(np.asarray(number))
    return Packed(number, pack) if number.values is None else pack(number.values)


class _Reader:
    """Reads an epilogue from its end. Methods return None for what is not what they look for."""

    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._nodes = dispatch.epilogue

    def requantization(self) -> Requantization | None:
        found = self._clipped()
        bias = self._bias(found[0]) if found else None
        return replace(found[1], bias=bias) if found and bias is not None else None

    def addition(self) -> Addition | None:
        found = self._clipped()
        terms = self._args(found[0], "addi") if found else None
        if not found or not terms:
            return None
        for one, other in (terms, terms[::-1]):
            a, b = self._term(one), self._term(other)
            if not a or not b:
                continue
            first, read = self._limited(a[0]), self._args(b[0], "extsi")
            if first and read and read[0].op == "load" and read[0].dtype == "i8":
                operand = self._dispatch.operands[read[0].operand]
                if operand.steps == self._dispatch.result.steps:
                    return Addition(first, a[1], operand, b[1], found[1])
        return None

    def _clipped(self) -> tuple[Node, Requantization] | None:
        """Returns what the last operation makes an int8 of, and how."""
        if not self._nodes or self._dispatch.result.dtype != "i8":
            return None
        args = self._args(self._nodes[-1], "requantize")
        found = self._product(args[0], args[1]) if args else None
        if not args or not found:
            return None
        limits = [self._constant(node) for node in args[2:]]
        if any(limit is None for limit in limits):
            return None
        zero, low, high = (limit for limit in limits if limit is not None)
        return found[0], Requantization(0, found[1], zero, low, high)

    def _limited(self, node: Node) -> Requantization | None:
        """Returns how a value is an int8 of the sum, before it is stored as one."""
        upper = self._pair(node, "minsi")
        lower = self._pair(upper[0], "maxsi") if upper else None
        shifted = self._pair(lower[0], "addi") if lower else None
        value, zero = shifted if shifted else (lower[0] if lower else node, 0)
        scaled = self._scaled(value)
        bias = self._bias(scaled[0]) if scaled else None
        if not upper or not lower or not scaled or bias is None:
            return None
        return Requantization(bias, scaled[1], zero, lower[1], upper[1])

    def _term(self, node: Node) -> tuple[Node, Term] | None:
        """Returns the int8 of which a term is made, and how."""
        scaled = self._scaled(node)
        shifted = self._pair(scaled[0] if scaled else node, "shli")
        if not shifted:
            return None
        value, zero = self._pair(shifted[0], "subi") or (shifted[0], 0)
        return value, Term(zero, shifted[1], scaled[1] if scaled else None)

    def _scaled(self, node: Node) -> tuple[Node, Scale] | None:
        args = self._args(node, "rounding_shift")
        return self._product(*args) if args else None

    def _product(self, node: Node, shifted_by: Node) -> tuple[Node, Scale] | None:
        """Returns what is scaled, and how. The node is not divided yet."""
        signs = self._args(node, "addi")
        product = signs[0] if signs else node
        found = self._args(product, "fixed_multiply") or self._args(product, "mulhi")
        multiplier, shift = (
            (self._number(found[1]), self._number(shifted_by)) if found else (None, None)
        )
        if not found or multiplier is None or shift is None:
            return None
        if product.op == "mulhi":
            raised = None if signs else self._pair(found[0], "shli")
            return (raised[0], Scale(multiplier, shift, up=raised[1])) if raised else None
        if signs and self._pair(signs[1], "shrsi") != (found[0], 31):
            return None
        return found[0], Scale(multiplier, shift, is_down=bool(signs))

    def _bias(self, node: Node) -> Number | None:
        """Returns what the sums begin with, and what is added to them then, as one number."""
        initial = self._dispatch.initial
        if node.op == "sum":
            return 0 if initial is None else initial
        args = self._args(node, "addi")
        is_sum = args and initial is None and args[0].op == "sum"
        return self._number(args[1]) if args and is_sum else None

    def _args(self, node: Node, op: str) -> tuple[Node, ...] | None:
        return tuple(self._nodes[arg] for arg in node.args) if node.op == op else None

    def _pair(self, node: Node, op: str) -> tuple[Node, int] | None:
        """Returns the arguments of an operation if the second one is a constant."""
        args = self._args(node, op)
        number = self._constant(args[1]) if args else None
        return (args[0], number) if args and number is not None else None

    @staticmethod
    def _constant(node: Node) -> int | None:
        return int(node.value) if node.op == "constant" else None

    def _number(self, node: Node) -> Number | None:
        return self._dispatch.operands[node.operand] if node.op == "load" else self._constant(node)
