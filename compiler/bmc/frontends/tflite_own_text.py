"""Describes an op of a .tflite file, and writes the MLIR of a function that computes its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import tflite_schema, tflite_text
from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_signal_lines import Lines, Value

_ELEMENTS = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "float32": "f32",
}  # fmt: skip
# An operand of a loop, and for each of its dimensions the loop that runs through it, several whose numbers are added,
# or None where only its first element is read.
Operand = tuple[Value, Sequence[int | tuple[int, ...] | None]]


@dataclass(frozen=True)
class Operation:
    """An op whose tensors have static shapes and types that MLIR has.

    Attributes:
      kind: TFLite's name.
      inputs: its operands, without those that are absent.
      outputs: its results.
      options: those of the schema, None if it has none.
      version: its version.
      unread: the places of results that nothing reads.
    """

    kind: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    options: Any
    version: int
    unread: frozenset[int]

    @staticmethod
    def of(model: Any, graph: Any, op: Any) -> Operation | None:
        """Returns an op of the schema, None if MLIR lacks a type of it."""
        ends = [
            [Tensor.of(model, graph.tensors[index]) for index in part if index >= 0]
            for part in (op.inputs, op.outputs)
        ]
        inputs, outputs = (tuple(each for each in part if each) for part in ends)
        if len(inputs) + len(outputs) != sum(map(len, ends)) or not outputs:
            return None
        kind, version = (
            tflite_schema.op_kind(model, op),
            model.operatorCodes[op.opcodeIndex].version,
        )
        read = {*graph.outputs, *(index for each in graph.operators for index in each.inputs)}
        unread = frozenset(place for place, i in enumerate(op.outputs) if i not in read)
        return Operation(kind, inputs, outputs, op.builtinOptions, version, unread)


@dataclass(frozen=True)
class Tensor:
    """A tensor of the file.

    Attributes:
      shape: its shape.
      dtype: NumPy's name of its type.
      scale, zero: its quantization, 0 if it has none.
      value: of a constant.
    """

    shape: tuple[int, ...]
    dtype: str
    scale: np.float32
    zero: int
    value: Array | None

    @staticmethod
    def of(model: Any, tensor: Any) -> Tensor | None:
        kind, data = tflite_schema.weight_type(tensor), model.buffers[tensor.buffer].data
        if kind not in _ELEMENTS:
            return None
        scale, zero = np.float32(0), 0
        if tflite_schema.is_quantized(tensor):
            if len(tensor.quantization.scale) > 1:
                return None
            scale = np.float32(tensor.quantization.scale[0])
            zero = int(tensor.quantization.zeroPoint[0])
        shape, value = tflite_schema.shape(tensor), None
        if tensor.buffer and data is not None and len(data):
            value = np.asarray(data, np.uint8).view(kind).reshape(shape)
        return Tensor(shape, kind, scale, zero, value)

    @property
    def element(self) -> str:
        return _ELEMENTS[self.dtype]

    @property
    def type(self) -> str:
        return tflite_text.tensor(self.shape, self.element)

    @property
    def is_float(self) -> bool:
        return self.dtype == "float32"


class Text(Lines):
    """A function under construction, whose arguments are the operands of an op."""

    def __init__(self, op: Operation) -> None:
        super().__init__()
        self.op = op
        self.inputs = tuple(
            Value(f"x{i}", tensor.shape, tensor.element) for i, tensor in enumerate(op.inputs)
        )

    def function(self, *results: Value) -> str:
        arguments = ", ".join(f"%{each.name}: {each.type}" for each in self.inputs)
        kinds = ", ".join(each.type for each in results)
        names = ", ".join(f"%{each.name}" for each in results)
        lines = "\n".join(self.lines)
        return (
            f"func.func @own({arguments}) -> ({kinds}) {{\n{lines}\n  return {names} : {kinds}\n}}"
        )

    def broadcast(self, body: Callable[..., str]) -> str:
        """Returns a function whose result has an element for those of all operands, which are broadcast."""
        made = self.op.outputs[0]
        operands = [(each, places(each.shape, made.shape)) for each in self.inputs]
        return self.function(self.loop(operands, made.shape, made.element, body))

    def loop(
        self,
        operands: Sequence[Operand],
        shape: Sequence[int],
        element: str,
        body: Callable[..., str],
        *,
        dims: Sequence[int] | None = None,
        start: str | Value = "",
    ) -> Value:
        """Returns a tensor whose elements are computed one by one.

        Args:
          operands: what it reads.
          shape, element: those of the result.
          body: gets a Body, the elements of the operands, and that of the result so far; returns the new one.
          dims: the loops that run through the dimensions of the result, if not the first ones in order. The others are
            reductions.
          start: the result's first elements, if there are reductions: a tensor, or a number as MLIR has it.
        """
        dims = range(len(shape)) if dims is None else dims
        read = [[_loops(place) for place in places] for _, places in operands]
        used = [loop for places in read for place in places for loop in place]
        count = max([*dims, *used], default=-1) + 1
        loops = ", ".join(f"d{i}" for i in range(count))
        maps = [[" + ".join(f"d{i}" for i in place) or "0" for place in places] for places in read]
        maps.append([f"d{dim}" for dim in dims])
        texts = ", ".join(f"affine_map<({loops}) -> ({', '.join(each)})>" for each in maps)
        kinds = ", ".join('"parallel"' if i in dims else '"reduction"' for i in range(count))
        if isinstance(start, Value):
            room = start
        else:
            room = self.filled(shape, element, start) if start else self.empty(shape, element)
        made = self._named(shape, element)
        values = [value for value, _ in operands]
        lines = Body()
        result = body(lines, *(f"%a{i}" for i in range(len(values))), "%old")
        arguments = [f"%a{i}: {value.element}" for i, value in enumerate(values)]
        given = ", ".join(f"%{each.name}" for each in values)
        types = ", ".join(each.type for each in values)
        self.lines += [
            f"  %{made.name} = linalg.generic {{indexing_maps = [{texts}],",
            f"    iterator_types = [{kinds}]}}",
            f"    {f'ins({given} : {types})' if values else ''} outs(%{room.name} : {room.type}) {{",
            f"  ^element({', '.join((*arguments, f'%old: {element}'))}):",
            *lines.lines,
            f"    linalg.yield {result} : {element}",
            f"  }} -> {made.type}",
        ]
        return made

    def filled(self, shape: Sequence[int], element: str, number: str) -> Value:
        """Returns a tensor of one number, which is written as MLIR has it."""
        scalar = f"n{len(self.lines)}"
        room = self.empty(shape, element)
        self.lines.append(f"  %{scalar} = arith.constant {number} : {element}")
        text = f"linalg.fill ins(%{scalar} : {element}) outs(%{room.name} : {room.type})"
        return self._add(f"{text} -> {room.type}", shape, element)

    def shaped(self, value: Value, shape: Sequence[int]) -> Value:
        """Returns a tensor with other dimensions of one element."""
        if value.shape == tuple(shape):
            return value
        sizes = np.array(shape, np.int64)
        name = f"n{len(self.lines)}"
        kind = f"tensor<{len(shape)}xindex>"
        self.lines.append(f"  %{name} = arith.constant dense<{list(map(int, sizes))}> : {kind}")
        text = f"tensor.reshape %{value.name}(%{name}) : ({value.type}, {kind}) ->"
        return self.operation(text, shape, value.element)

    def padded(self, value: Value, shape: Sequence[int]) -> Value:
        """Returns a tensor of a larger shape, with zeros behind the elements."""
        high = [after - before for before, after in zip(value.shape, shape, strict=True)]
        if not any(high):
            return value
        zero = f"n{len(self.lines)}"
        number = "0.0" if value.element == "f32" else "0"
        self.lines.append(f"  %{zero} = arith.constant {number} : {value.element}")
        places = ", ".join(f"%i{axis}: index" for axis in range(len(shape)))
        made = tflite_text.tensor(shape, value.element)
        return self._add(
            f"tensor.pad %{value.name} low[{', '.join('0' for _ in shape)}] high[{', '.join(map(str, high))}] {{\n"
            f"  ^element({places}):\n    tensor.yield %{zero} : {value.element}\n"
            f"  }} : {value.type} to {made}",
            shape,
            value.element,
        )

    def operation(self, text: str, shape: Sequence[int], element: str) -> Value:
        """Returns the result of an operation, whose text ends where its type is to be."""
        return self._add(f"{text} {tflite_text.tensor(shape, element)}", shape, element)

    def rescaled(
        self, value: Value, element: str, multipliers: Array, shifts: Array, rounding: str
    ) -> Value:
        """Returns what tflite_text.rescale() makes of a value."""
        made = self._named(value.shape, element)
        types = value.element, element
        self.lines.append(
            tflite_text.rescale(
                made.name, value.name, value.shape, types, multipliers, shifts, rounding
            )
        )
        return made


def _loops(place: int | tuple[int, ...] | None) -> tuple[int, ...]:
    if place is None:
        return ()
    return place if isinstance(place, tuple) else (place,)


def places(shape: Sequence[int], result: Sequence[int]) -> list[int | None]:
    """Returns the loop for each dimension of an operand that is broadcast to a result."""
    first = len(result) - len(shape)
    return [
        None if size == 1 and result[first + dim] != 1 else first + dim
        for dim, size in enumerate(shape)
    ]


def compare(b: Body, how: str, x: str, y: str, element: str) -> str:
    """Returns whether `how` is true of two elements: eq, ne, lt, le, gt or ge."""
    if element.startswith("f"):
        return b.line(f"arith.cmpf {'u' if how == 'ne' else 'o'}{how}, {x}, {y} : {element}")
    sign = "" if how in ("eq", "ne") else "s"
    return b.line(f"arith.cmpi {sign}{how}, {x}, {y} : {element}")


def index(b: Body, loop: int, element: str = "i32") -> str:
    """Returns how often a loop has run."""
    return b.cast("index_cast", b.line(f"linalg.index {loop} : index"), ("index", element))


def element(b: Body, value: Value, at: Sequence[str]) -> str:
    """Returns an element of a tensor at places that are numbers of i32."""
    names = ", ".join(b.cast("index_cast", place, ("i32", "index")) for place in at)
    return b.line(f"tensor.extract %{value.name}[{names}] : {value.type}")
