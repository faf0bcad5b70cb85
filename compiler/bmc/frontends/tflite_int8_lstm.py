"""LSTMs of int8 step by step, as LiteRT's reference kernel computes them: sums in 32 bits, gates and cells in 16.

The converter to TOSA has no such op. So it gets a product of the same shape, of which this makes the LSTM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import tflite_schema, tflite_text
from bmc.frontends.tflite_file import TfliteFile
from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_text import DOUBLE_ROUND, constant, tensor

# Bits of a gate's sum before the point, and their scale.
_BITS, _SCALE = 3, np.float32(2.0**-12)
# Places of an LSTM's operands: weights of inputs, of the last output, and biases; for the input gate, the forget gate,
# the cell and the output gate. Without an input gate, its weights are absent.
WEIGHTS, RECURRENT, BIASES = (1, 2, 3, 4), (5, 6, 7, 8), (12, 13, 14, 15)
# Places of its states, and of the output among its intermediate tensors.
_OUTPUT_STATE, _CELL_STATE, _HIDDEN = 18, 19, 4
KIND = "UNIDIRECTIONAL_SEQUENCE_LSTM"


@dataclass(frozen=True)
class Lstm:
    """An LSTM of int8.

    Attributes:
      outer: steps and batch in the order that `time` says.
      time: the axis of the steps among the first two, 0 or 1.
      weights: [gate, cell, input] for the input gate, the forget gate, the cell and the output gate, or without the
        first.
      recurrent: [gate, cell, cell] likewise.
      biases: [gate, cell], with what the zero point of the input adds.
      weight_scales, recurrent_scales: what sums are multiplied with, one per gate.
      zero_point, last_zero_point: of the output, and as what the next step reads it.
      hidden_scale: what the product of a gate and a cell is multiplied with for the output.
      cell_scale: the scale of the cells is 2 to the power of this.
      clip: the largest cell, 0 for no limit.
    """

    outer: tuple[int, int]
    time: int
    weights: Array
    recurrent: Array
    biases: Array
    weight_scales: Array
    recurrent_scales: Array
    zero_point: int
    last_zero_point: int
    hidden_scale: float
    cell_scale: int
    clip: int

    @property
    def cells(self) -> int:
        return int(self.weights.shape[1])


def is_int8(graph: Any, op: Any) -> bool:
    """Whether an LSTM has an input of int8."""
    from ai_edge_litert.schema_py_generated import TensorType

    return bool(graph.tensors[op.inputs[0]].type == TensorType.INT8)


def lstms(file: TfliteFile) -> dict[str, Lstm]:
    """Returns the LSTMs of int8 that read() knows in a file of static shapes, by the names of their outputs."""
    found: dict[str, Lstm] = {}
    for graph in file.model.subgraphs:
        for op in graph.operators:
            if tflite_schema.op_kind(file.model, op) == KIND and is_int8(graph, op):
                lstm = read(graph, op, file.weights())
                if isinstance(lstm, Lstm):
                    found[tflite_schema.text(graph.tensors[op.outputs[0]].name)] = lstm
    return found


def read(graph: Any, op: Any, constants: dict[str, Array]) -> Lstm | str:
    """Returns an LSTM of int8, or what is wrong with it.

    Args:
      graph: the graph of the op.
      op: the op, without peepholes, projection and layer normalization.
      constants: by the names of tensors.
    """
    hidden = [] if op.intermediates is None else [*op.intermediates][_HIDDEN:]
    tensors = {at: graph.tensors[i] for at, i in enumerate(op.inputs) if i >= 0}
    places = [at for at in WEIGHTS if at in tensors]
    gates = [at - WEIGHTS[0] for at in places]
    needed = [at + RECURRENT[0] for at in gates] + places + [0, _OUTPUT_STATE, _CELL_STATE]
    scaled = [tensors.get(at) for at in needed] + [graph.tensors[i] for i in hidden]
    if len(hidden) != 1 or not all(map(tflite_schema.is_quantized, scaled)):
        return "without the scales of its tensors"

    def values(first: int, dtype: Any) -> list[Array]:
        each = [tensors[first + gate] for gate in gates if first + gate in tensors]
        arrays = [constants.get(tflite_schema.text(tensor.name)) for tensor in each]
        return [array for array in arrays if array is not None and array.dtype == dtype]

    def scale(tensor: Any) -> np.float32:
        return np.float32(tensor.quantization.scale[0])

    def zero_point(tensor: Any) -> int:
        points = tensor.quantization.zeroPoint
        return 0 if points is None else int(points[0])

    def scales(first: int, of: Any) -> Array:
        products = [scale(tensors[first + gate]) * scale(of) / _SCALE for gate in gates]
        return np.array(products, np.float32)

    weights, recurrent = values(WEIGHTS[0], np.int8), values(RECURRENT[0], np.int8)
    biases = values(BIASES[0], np.int32)
    shapes = [{array.shape for array in arrays} for arrays in (weights, recurrent, biases)]
    if not len(weights) == len(recurrent) == len(biases) == len(gates) > 0:
        return "with weights that are no constants of int8, or biases that are none of int32"
    if any(len(each) > 1 for each in shapes):
        return "with gates of different sizes"
    image, output, cell = tensors[0], tensors[_OUTPUT_STATE], tensors[_CELL_STATE]
    power = np.log2(float(scale(cell)))
    if power != round(power) or not -15 <= power <= -9:
        return "with cells of another scale than 2^-15 to 2^-9"
    rows = np.stack(weights).astype(np.int32).sum(2)
    clip = np.float32(op.builtinOptions.cellClip) / scale(cell)
    (made,) = (graph.tensors[i] for i in hidden)
    first, second, _ = tflite_schema.shape(image)
    return Lstm(
        outer=(first, second),
        time=0 if op.builtinOptions.timeMajor else 1,
        weights=np.stack(weights),
        recurrent=np.stack(recurrent),
        biases=np.stack(biases) - zero_point(image) * rows,
        weight_scales=scales(WEIGHTS[0], image),
        recurrent_scales=scales(RECURRENT[0], output),
        zero_point=zero_point(made),
        last_zero_point=zero_point(output),
        hidden_scale=float(np.float32(2.0**-15 / float(scale(made)) * 2.0**-15)),
        cell_scale=int(power),
        clip=max(0, int(min(clip, np.float32(2**15 - 1)))),
    )


def corrections(op: Any, name: str, lstms: dict[str, Lstm]) -> Iterator[Callable[[], None]]:
    """Yields the change of the product that stands for the LSTM with output `name`."""
    if op.name == "tosa.conv2d" and name in lstms:
        yield partial(_replace, op, lstms[name])


def _replace(op: Any, lstm: Lstm) -> None:
    (use,) = op.results[0].uses
    tflite_text.replace(use.owner.operation, _text(lstm), [op.operands[0]])


def _text(lstm: Lstm) -> str:
    gates, cells, outer = len(lstm.weights), lstm.cells, lstm.outer
    steps, batch, inputs = outer[lstm.time], outer[1 - lstm.time], lstm.weights.shape[2]
    rows, width = steps * batch, gates * cells
    given, made = tensor([rows, 1, 1, inputs], "i8"), tensor([rows, 1, 1, cells], "i8")
    flat, sequence = tensor([rows, cells], "i8"), tensor([*outer, cells], "i8")
    all_sums = tensor([*outer, width], "i16")
    lines = [
        f"  %rows = tensor.collapse_shape %x [[0, 1, 2], [3]] : {given} into {tensor([rows, inputs], 'i8')}",
        *_product("sums", "rows", lstm.weights, lstm.biases, rows),
        _scaled("gates", "sums", [rows, width], "i16", lstm.weight_scales, cells),
        f"  %apart = tensor.expand_shape %gates [[0, 1], [2]] output_shape [{', '.join(map(str, [*outer, width]))}]"
        f" : {tensor([rows, width], 'i16')} into {all_sums}",
        f"  %sequence_0 = tensor.empty() : {sequence}",
    ]
    # What the zero point of the last output adds.
    offsets = -lstm.last_zero_point * lstm.recurrent.astype(np.int32).sum(2)
    for step in range(steps):
        operands = []
        for gate in range(gates):
            place = ["0", "0", str(gate * cells)]
            place[lstm.time] = str(step)
            size = [batch, batch, cells]
            size[lstm.time] = 1
            part = tensor([batch, cells], "i16")
            lines.append(
                f"  %given_{step}_{gate} = tensor.extract_slice %apart[{', '.join(place)}]"
                f" [{', '.join(map(str, size))}] [1, 1, 1] : {all_sums} to {part}"
            )
            operands.append((f"%given_{step}_{gate}", "i16"))
        if step:
            last = f"hidden_{step - 1}"
            lines += _product(f"again_{step}", last, lstm.recurrent, offsets, batch)
            shape = [batch, width]
            lines.append(
                _scaled(f"more_{step}", f"again_{step}", shape, "i32", lstm.recurrent_scales, cells)
            )
            for gate in range(gates):
                part = tensor([batch, cells], "i32")
                lines.append(
                    f"  %more_{step}_{gate} = tensor.extract_slice %more_{step}[0, {gate * cells}]"
                    f" [{batch}, {cells}] [1, 1] : {tensor(shape, 'i32')} to {part}"
                )
                operands.append((f"%more_{step}_{gate}", "i32"))
            operands.append((f"%cell_{step - 1}", "i16"))
        lines += _step(lstm, step, batch, operands)
        place, size = ["0", "0", "0"], [*outer, cells]
        place[lstm.time], size[lstm.time] = str(step), 1
        lines.append(
            f"  %sequence_{step + 1} = tensor.insert_slice %hidden_{step} into %sequence_{step}[{', '.join(place)}]"
            f" [{', '.join(map(str, size))}] [1, 1, 1] : {tensor([batch, cells], 'i8')} into {sequence}"
        )
    text = "\n".join(lines)
    return f"""
func.func @lstm(%x: {given}) -> {made} {{
{text}
  %flat = tensor.collapse_shape %sequence_{steps} [[0, 1], [2]] : {sequence} into {flat}
  %made = tensor.expand_shape %flat [[0, 1, 2], [3]] output_shape [{rows}, 1, 1, {cells}] : {flat} into {made}
  return %made : {made}
}}"""


def _product(name: str, of: str, weights: Array, biases: Array, rows: int) -> list[str]:
    """Returns what makes [row, gate and cell] of the product of a tensor with weights, and biases."""
    inputs, width = weights.shape[2], biases.size
    joined = np.ascontiguousarray(weights.reshape(width, inputs).T)
    given, kind = tensor([rows, inputs], "i8"), tensor([rows, width], "i32")
    return [
        f"  %{name}_weights = {constant(joined)}",
        f"  %{name}_biases = {constant(biases.reshape(width).astype(np.int32))}",
        f"  %{name}_none = arith.constant 0 : i32",
        f"  %{name}_empty = tensor.empty() : {kind}",
        f"  %{name}_zeros = linalg.fill ins(%{name}_none : i32) outs(%{name}_empty : {kind}) -> {kind}",
        f"  %{name}_products = linalg.matmul ins(%{of}, %{name}_weights : {given}, {tensor(joined.shape, 'i8')})"
        f" outs(%{name}_zeros : {kind}) -> {kind}",
        f"  %{name}_room = tensor.empty() : {kind}",
        f"  %{name}_spread = linalg.broadcast ins(%{name}_biases : {tensor([width], 'i32')})"
        f" outs(%{name}_room : {kind}) dimensions = [0]",
        f"  %{name} = arith.addi %{name}_products, %{name}_spread : {kind}",
    ]


def _scaled(name: str, of: str, shape: list[int], element: str, scales: Array, cells: int) -> str:
    numbers = tflite_text.multipliers(np.repeat(scales, cells), 31)
    return tflite_text.rescale(name, of, shape, ("i32", element), *numbers, DOUBLE_ROUND)


def _step(lstm: Lstm, step: int, batch: int, operands: list[tuple[str, str]]) -> list[str]:
    """Returns the loop over cells that makes %hidden and %cell of a step."""
    kinds = [tensor([batch, lstm.cells], element) for _, element in operands]
    hidden, cell = (tensor([batch, lstm.cells], element) for element in ("i8", "i16"))
    same = "affine_map<(d0, d1) -> (d0, d1)>"
    arguments = [f"%a{i}: {element}" for i, (_, element) in enumerate(operands)]
    return [
        f"  %hidden_room_{step} = tensor.empty() : {hidden}",
        f"  %cell_room_{step} = tensor.empty() : {cell}",
        f"  %hidden_{step}, %cell_{step} = linalg.generic {{"
        f"indexing_maps = [{', '.join([same] * (len(operands) + 2))}],",
        '    iterator_types = ["parallel", "parallel"]}',
        f"    ins({', '.join(name for name, _ in operands)} : {', '.join(kinds)})",
        f"    outs(%hidden_room_{step}, %cell_room_{step} : {hidden}, {cell}) {{",
        f"  ^element({', '.join(arguments)}, %old_hidden: i8, %old_cell: i16):",
        *_body(lstm, [element for _, element in operands]),
        f"  }} -> ({hidden}, {cell})",
    ]


def _body(lstm: Lstm, elements: list[str]) -> list[str]:
    """Returns one step of one cell; elements are the types of the sums of the gates and, after the first step, those
    of the products with the last output, and the cell."""
    body = Body()
    wide = [
        body.cast("extsi", f"%a{i}", (element, "i32")) if element != "i32" else f"%a{i}"
        for i, element in enumerate(elements)
    ]
    count = len(lstm.weights)
    sums, more, cells = wide[:count], wide[count : 2 * count], wide[2 * count :]
    if more:
        sums = [body.saturate(body.add(a, b)) for a, b in zip(sums, more, strict=True)]
    *first, forget, new, output = sums
    forget = body.logistic(forget, _BITS)
    take = body.logistic(first[0], _BITS) if first else body.minus(2**15 - 1, forget)
    added = body.op("muli", take, body.tanh(new, _BITS))
    cell = body.divided(added, 30 + lstm.cell_scale)
    for old in cells:
        kept = body.divided(body.op("muli", forget, old), 15)
        cell = body.saturate(body.add(kept, cell))
    if lstm.clip:
        cell = body.limit(cell, -lstm.clip, lstm.clip)
    seen = body.op("muli", body.logistic(output, _BITS), body.tanh(cell, 15 + lstm.cell_scale))
    (multiplier,), (shift,) = tflite_text.multipliers(np.array([lstm.hidden_scale]), 31)
    hidden = body.plus(body.scaled(seen, int(multiplier), int(shift)), lstm.zero_point)
    results = (
        body.cast("trunci", body.limit(hidden, -128, 127), ("i32", "i8")),
        body.cast("trunci", cell, ("i32", "i16")),
    )
    return [*body.lines, f"    linalg.yield {', '.join(results)} : i8, i16"]
