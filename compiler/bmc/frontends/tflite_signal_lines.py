"""Lines of MLIR that compute with tensors of integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bmc.dtype import Array
from bmc.frontends import tflite_text
from bmc.frontends.tflite_fixed_point import Body


@dataclass(frozen=True)
class Value:
    """A tensor: its name without %, its shape, and the type of its elements."""

    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def type(self) -> str:
        return tflite_text.tensor(self.shape, self.element)


class Lines:
    """Lines under construction."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def _add(self, text: str, shape: Sequence[int], element: str) -> Value:
        made = self._named(shape, element)
        self.lines.append(f"  %{made.name} = {text}")
        return made

    def _named(self, shape: Sequence[int], element: str) -> Value:
        self._count += 1
        return Value(f"t{self._count}", tuple(shape), element)

    def constant(self, values: Array) -> Value:
        element = tflite_text.element(values)
        return self._add(tflite_text.constant(values), values.shape, element)

    def empty(self, shape: Sequence[int], element: str) -> Value:
        return self._add(f"tensor.empty() : {tflite_text.tensor(shape, element)}", shape, element)

    def flat(self, value: Value, kind: str) -> Value:
        """Returns an argument of any shape as one of one dimension."""
        rank = kind.count("x")
        if rank == 1:
            return value
        axes = ", ".join(map(str, range(rank)))
        text = f"tensor.collapse_shape %{value.name} [[{axes}]] : {kind} into {value.type}"
        return self._add(text, value.shape, value.element)

    def reshaped(self, value: Value, shape: Sequence[int]) -> Value:
        """Splits the only dimension of a value, or joins all."""
        axes = ", ".join(map(str, range(max(len(shape), len(value.shape)))))
        made = tflite_text.tensor(shape, value.element)
        if len(shape) == 1:
            text = f"tensor.collapse_shape %{value.name} [[{axes}]] : {value.type} into {made}"
        else:
            sizes = ", ".join(map(str, shape))
            text = (
                f"tensor.expand_shape %{value.name} [[{axes}]] output_shape [{sizes}]"
                f" : {value.type} into {made}"
            )
        return self._add(text, shape, value.element)

    def transposed(self, value: Value, order: Sequence[int]) -> Value:
        shape = [value.shape[axis] for axis in order]
        room = self.empty(shape, value.element)
        text = (
            f"linalg.transpose ins(%{value.name} : {value.type}) outs(%{room.name} : {room.type})"
            f" permutation = [{', '.join(map(str, order))}]"
        )
        return self._add(text, shape, value.element)

    def slice(self, value: Value, start: int, size: int) -> Value:
        """Returns a part of a value of one dimension."""
        made = tflite_text.tensor([size], value.element)
        text = f"tensor.extract_slice %{value.name}[{start}] [{size}] [1] : {value.type} to {made}"
        return self._add(text, [size], value.element)

    def plane(self, value: Value, place: int) -> Value:
        """Returns [i, j] of [i, place, j]."""
        first, _, last = value.shape
        made = tflite_text.tensor([first, last], value.element)
        text = (
            f"tensor.extract_slice %{value.name}[0, {place}, 0] [{first}, 1, {last}] [1, 1, 1]"
            f" : {value.type} to {made}"
        )
        return self._add(text, [first, last], value.element)

    def planes(self, values: Sequence[Value]) -> Value:
        """Returns [i, place, j] of each [i, j]."""
        first, last = values[0].shape
        made = self.empty([first, len(values), last], values[0].element)
        for place, value in enumerate(values):
            text = (
                f"tensor.insert_slice %{value.name} into %{made.name}[0, {place}, 0]"
                f" [{first}, 1, {last}] [1, 1, 1] : {value.type} into {made.type}"
            )
            made = self._add(text, made.shape, made.element)
        return made

    def joined(self, values: Sequence[Value]) -> Value:
        """Joins values of one dimension."""
        size = sum(value.shape[0] for value in values)
        made = tflite_text.tensor([size], values[0].element)
        names = ", ".join(f"%{value.name}" for value in values)
        kinds = ", ".join(value.type for value in values)
        text = f"tensor.concat dim(0) {names} : ({kinds}) -> {made}"
        return self._add(text, [size], values[0].element)

    def each(
        self,
        inputs: Sequence[Value],
        elements: Sequence[str],
        body: Callable[..., list[str]],
        shape: Sequence[int] | None = None,
    ) -> list[Value]:
        """Computes elements of the shape of the first input, or of `shape`; returns a value for each of `elements`.

        Inputs of fewer dimensions have the last ones, and those of one element belong to all. `body` gets a Body and
        the names of the elements, and returns those of the results.
        """
        shape = inputs[0].shape if shape is None else shape
        axes = [f"d{axis}" for axis in range(len(shape))]
        maps = []
        for value in inputs:
            used = axes[len(axes) - len(value.shape) :] if value.shape else []
            if value.shape == (1,) and tuple(shape) != (1,):
                used = ["0"]
            maps.append(f"affine_map<({', '.join(axes)}) -> ({', '.join(used)})>")
        maps += [f"affine_map<({', '.join(axes)}) -> ({', '.join(axes)})>"] * len(elements)
        rooms = [self.empty(shape, element) for element in elements]
        made = [self._named(shape, element) for element in elements]
        lines = Body()
        results = body(lines, *(f"%a{i}" for i in range(len(inputs))))
        arguments = [f"%a{i}: {value.element}" for i, value in enumerate(inputs)]
        arguments += [f"%o{i}: {element}" for i, element in enumerate(elements)]
        kinds = ", ".join(room.type for room in rooms)
        given = (
            f" ins({', '.join('%' + each.name for each in inputs)} : {', '.join(each.type for each in inputs)})"
            if inputs
            else ""
        )
        parallel = ", ".join(['"parallel"'] * len(shape))
        self.lines += [
            f"  {', '.join('%' + each.name for each in made)} = linalg.generic {{indexing_maps = [{', '.join(maps)}],",
            f"    iterator_types = [{parallel}]}}{given}",
            f"    outs({', '.join('%' + each.name for each in rooms)} : {kinds}) {{",
            f"  ^element({', '.join(arguments)}):",
            *lines.lines,
            f"    linalg.yield {', '.join(results)} : {', '.join(elements)}",
            f"  }} -> {kinds if len(rooms) == 1 else f'({kinds})'}",
        ]
        return made

    def largest(self, x: Value) -> Value:
        """Returns the largest size of numbers of 16 bits, taken one after the other.

        The size of the least number is that number itself, which is less than every other size.
        """
        zero = self.constant(np.zeros((), np.int16))
        made = self._named((), "i16")
        self.lines.append(f"""  %{made.name} = linalg.generic {{
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}}
    ins(%{x.name} : {x.type}) outs(%{zero.name} : {zero.type}) {{
  ^element(%v: i16, %most: i16):
    %wide = arith.extsi %v : i16 to i32
    %wide_most = arith.extsi %most : i16 to i32
    %zero = arith.constant 0 : i32
    %opposite = arith.subi %zero, %wide : i32
    %is_less = arith.cmpi sgt, %opposite, %wide_most : i32
    %small = arith.trunci %opposite : i32 to i16
    %or_opposite = arith.select %is_less, %small, %most : i16
    %is_more = arith.cmpi sgt, %v, %most : i16
    %new = arith.select %is_more, %v, %or_opposite : i16
    linalg.yield %new : i16
  }} -> {zero.type}""")
        return made

    def product(self, x: Value, weights: Array) -> Value:
        """Returns sums of 64 bits of unsigned numbers times each row of weights."""
        rows = self.constant(weights)
        zeros = self.constant(np.zeros(len(weights), np.int64))
        made = self._named(zeros.shape, "i64")
        self.lines.append(f"""  %{made.name} = linalg.generic {{
    indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]}}
    ins(%{x.name}, %{rows.name} : {x.type}, {rows.type}) outs(%{zeros.name} : {zeros.type}) {{
  ^element(%v: {x.element}, %weight: {rows.element}, %sum: i64):
    %a = arith.extui %v : {x.element} to i64
    %b = arith.extsi %weight : {rows.element} to i64
    %product = arith.muli %a, %b : i64
    %next = arith.addi %sum, %product : i64
    linalg.yield %next : i64
  }} -> {zeros.type}""")
        return made
