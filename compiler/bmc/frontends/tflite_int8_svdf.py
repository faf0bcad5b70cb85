"""SVDFs of int8 as LiteRT's reference kernel computes them: sums in 32 bits, and states of 16 bits, or of 8.

The converter to TOSA gets ops of the same shapes: a product for the filters, and the largest number of all steps for
the sums over these. This makes the SVDF of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bmc.frontends import tflite_schema, tflite_svdf_op, tflite_text
from bmc.frontends.tflite_file import TfliteFile
from bmc.frontends.tflite_svdf_op import Svdf
from bmc.frontends.tflite_text import DOUBLE_ROUND, constant, tensor


def svdfs(file: TfliteFile) -> dict[str, Svdf]:
    """Returns the SVDFs of int8 of a file of static shapes, by the names of their outputs."""
    found: dict[str, Svdf] = {}
    graph = file.model.subgraphs[0]
    for op in graph.operators:
        if tflite_schema.op_kind(file.model, op) == tflite_svdf_op.KIND:
            svdf = tflite_svdf_op.read(graph, op, file.weights())
            if isinstance(svdf, Svdf) and not svdf.is_float:
                found[tflite_schema.text(graph.tensors[op.outputs[0]].name)] = svdf
    return found


def corrections(op: Any, name: str, svdfs: dict[str, Svdf]) -> Iterator[Callable[[], None]]:
    """Yields the changes of what stands for the SVDF with output `name`, whose last operation is this one."""
    if op.name == "tosa.rescale" and name in svdfs:
        yield partial(_replace, op, svdfs[name])


def _replace(op: Any, svdf: Svdf) -> None:
    rows = _maker(op.operands[0]).operands[0]
    while rows.owner.name in ("tosa.reduce_max", "tosa.reshape"):
        rows = rows.owner.operands[0]
    numbers = _maker(rows.owner.operands[-1])
    sums = numbers.operands[0]
    tflite_text.replace(op, _weighed(list(rows.type.shape), svdf), [rows])
    tflite_text.replace(numbers, _numbers(list(sums.type.shape), svdf), [sums])


def _maker(value: Any) -> Any:
    """Returns the operation that makes a value, which may then be reshaped."""
    while value.owner.name == "tosa.reshape":
        value = value.owner.operands[0]
    return value.owner.operation


def _numbers(shape: list[int], svdf: Svdf) -> str:
    """Returns what makes the filters' numbers of their sums."""
    kind = f"i{8 * svdf.time.dtype.itemsize}"
    multipliers = tflite_text.multipliers(np.array([svdf.scales[0]]), 31)
    scaled = tflite_text.rescale(
        "scaled",
        "sums",
        shape,
        ("i32", kind),
        *multipliers,
        DOUBLE_ROUND,
        zero_point=svdf.state_zero_point,
    )
    return f"""
func.func @numbers(%sums: {tensor(shape, "i32")}) -> {tensor(shape, kind)} {{
{scaled}
  return %scaled : {tensor(shape, kind)}
}}"""


def _weighed(shape: list[int], svdf: Svdf) -> str:
    """Returns what makes the result of all numbers as [batch, step, filter]."""
    kind = f"i{8 * svdf.time.dtype.itemsize}"
    rank = svdf.filters // svdf.units
    parts = [svdf.batch, svdf.memory, svdf.units, rank]
    weights = np.ascontiguousarray(svdf.time.T).reshape(parts[1:])
    with np.errstate(over="ignore"):
        offsets = svdf.state_zero_point * weights.astype(np.int32).sum((0, 2), dtype=np.int32)
        bias = svdf.bias - offsets.astype(np.int32)
    made = [svdf.batch, svdf.units]
    sums, result = tensor(made, "i32"), tensor(made, "i8")
    multipliers = tflite_text.multipliers(np.array([svdf.scales[1]]), 31)
    scaled = tflite_text.rescale(
        "made",
        "sums",
        made,
        ("i32", "i8"),
        *multipliers,
        DOUBLE_ROUND,
        zero_point=svdf.zero_point,
    )
    return f"""
func.func @weighed(%numbers: {tensor(shape, kind)}) -> {result} {{
  %weights = {constant(weights)}
  %bias = {constant(bias)}
  %room = tensor.empty() : {sums}
  %first = linalg.broadcast ins(%bias : {tensor(bias.shape, "i32")}) outs(%room : {sums}) dimensions = [0]
  %apart = tensor.expand_shape %numbers [[0], [1], [2, 3]] output_shape [{", ".join(map(str, parts))}]
    : {tensor(shape, kind)} into {tensor(parts, kind)}
  %sums = linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>,
    affine_map<(d0, d1, d2, d3) -> (d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
    ins(%apart, %weights : {tensor(parts, kind)}, {tensor(weights.shape, kind)}) outs(%first : {sums}) {{
  ^step(%number: {kind}, %weight: {kind}, %sum: i32):
    %a = arith.extsi %number : {kind} to i32
    %b = arith.extsi %weight : {kind} to i32
    %product = arith.muli %a, %b : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  }} -> {sums}
{scaled}
  return %made : {result}
}}"""
