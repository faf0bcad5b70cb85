"""Sums of products of int16, which TOSA has in 48 bits and IREE computes wrongly.

LiteRT's reference kernels add them up in 64 bits. So does bmc, or in 32 bits where the weights prove that the sums fit.
tflite_scaling makes int16 of them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import tflite_scaling, tflite_schema, tflite_text
from bmc.frontends.tflite_file import TfliteFile
from bmc.frontends.tflite_text import constant, tensor

# TFLite's ops -> places of the image, the weights and the bias among their operands.
KINDS = {
    "BATCH_MATMUL": (0, 1, None),
    "CONV_2D": (0, 1, 2),
    "DEPTHWISE_CONV_2D": (0, 1, 2),
    "FULLY_CONNECTED": (0, 1, 2),
    "TRANSPOSE_CONV": (2, 1, 3),
}
# What to do about an op on int16 that bmc does not compute.
OTHERWISE = "convert with int8 activations: OpsSet.TFLITE_BUILTINS_INT8"


@dataclass(frozen=True)
class Sums:
    """An op of the file that sums up products of int16.

    Attributes:
      kind: TFLite's name.
      weights: the constant, with the channels of the result in its axis `channels`; None for BATCH_MATMUL.
      channels: see weights.
      bias: one per channel, or one zero.
      scales: what a sum is multiplied with, one per channel or one for all.
      in_32_bits: whether LiteRT adds up in 32 bits too.
    """

    kind: str
    weights: Array | None
    channels: int
    bias: Array
    scales: Array
    in_32_bits: bool

    @cached_property
    def largest(self) -> int:
        """No sum is larger than this."""
        if self.weights is None:
            return 2**47
        rows = np.moveaxis(self.weights, self.channels, 0).reshape(
            self.weights.shape[self.channels], -1
        )
        most = np.abs(rows.astype(np.int64)).sum(1) * 2**15 + np.abs(self.bias.astype(np.int64))
        return int(most.max())

    @property
    def bits(self) -> int:
        """Bits of a sum."""
        return 32 if self.in_32_bits or self.largest < 2**31 else 64


def found(file: TfliteFile) -> Iterator[tuple[str, Sums | BmcError]]:
    """Yields each op that sums up products of int16, by the name of its output; or why bmc cannot compute it."""
    from ai_edge_litert.schema_py_generated import TensorType

    weights = file.weights()
    for graph in file.model.subgraphs:
        for op in graph.operators:
            kind = tflite_schema.op_kind(file.model, op)
            if kind not in KINDS or not op.outputs:
                continue
            output = graph.tensors[op.outputs[0]]
            if output.type == TensorType.INT16:
                name = tflite_schema.text(output.name)
                operands = [graph.tensors[i] if i >= 0 else None for i in op.inputs]
                yield name, _read(kind, op, operands, output, weights, file.name)


def _read(
    kind: str,
    op: Any,
    operands: list[Any],
    output: Any,
    constants: dict[str, Array],
    name: str,
) -> Sums | BmcError:
    from ai_edge_litert.schema_py_generated import TensorType

    def refused(why: str) -> BmcError:
        return BmcError(
            "unsupported-quantization",
            f"op '{kind}' on int16 {why}",
            where=f"{tflite_schema.text(output.name)} in {name}",
            hint=OTHERWISE,
        )

    def value(place: int | None) -> Array | None:
        if place is None or place >= len(operands) or operands[place] is None:
            return None
        return constants.get(tflite_schema.text(operands[place].name))

    at_image, at_weights, at_bias = KINDS[kind]
    if len(operands) <= max(at_image, at_weights):
        return refused("lacks an operand")
    image, other = operands[at_image], operands[at_weights]
    if not all(map(tflite_schema.is_quantized, (image, other, output))):
        return refused("has operands without a scale")
    weights = None if at_bias is None else value(at_weights)
    channels = 3 if kind == "DEPTHWISE_CONV_2D" else 0
    if at_bias is None:
        if other.type != TensorType.INT16:
            return refused("has int8 operands")
    elif weights is None or weights.dtype != np.int8:
        return refused("has weights that are no constants of int8")
    elif weights.ndim != (2 if kind == "FULLY_CONNECTED" else 4):
        return refused("has weights of another rank")
    bias = value(at_bias)
    declared = getattr(op.builtinOptions, "quantizedBiasType", 0)
    if bias is None:
        bias = np.zeros(1, np.int64)
    elif (bias.dtype == np.int32) != (declared == TensorType.INT32):
        return refused("has a bias of another type than its options say")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scales = (
            np.float64(image.quantization.scale[0])
            * np.asarray(other.quantization.scale, np.float64)
            / np.float64(output.quantization.scale[0])
        )
    if not np.all((scales >= 0) & (scales < tflite_scaling.LARGEST_SCALE)):
        return refused("scales its sums up by more than 2^13")
    sums = Sums(kind, weights, channels, bias, scales, declared == TensorType.INT32)
    if kind == "FULLY_CONNECTED" and sums.largest >= tflite_scaling.LARGEST:
        return refused("adds up more than 36 bits")
    return sums


def sums(file: TfliteFile) -> dict[str, Sums]:
    """Returns what found() yields of a file of which bmc can compute everything."""
    return {name: each for name, each in found(file) if isinstance(each, Sums)}


def corrections(op: Any, name: str, ops: dict[str, Sums]) -> Iterator[Callable[[], None]]:
    """Yields the change of an operation of the converter's.

    Args:
      op: the operation.
      name: the file's tensor that it computes.
      ops: the file's sums, by the names of their outputs.
    """
    if op.name in _TEXTS and name in ops:
        yield partial(_replace, op, ops[name])


def _replace(op: Any, sums: Sums) -> None:
    """Replaces the sums and their scaling, between which there may be a reshape, or a bias of a group of channels."""
    from iree.compiler import ir

    i16 = ir.IntegerType.get_signless(16, op.context)
    sums, users = _of_group(op, sums), [_user(op)]
    while users[-1].results[0].type.element_type != i16:
        users.append(_user(users[-1]))
    operands = list(op.operands[: 2 if sums.weights is None else 1])
    made = tflite_text.replace(op, _TEXTS[op.name](op, sums), operands)
    text = _scaling(list(made.type.shape), sums)
    scaled = tflite_text.insert(users[0], text, [made])
    if users[0].name == "tosa.reshape":
        reshape = users.pop(0)
        reshape.operands[0] = scaled
        shape, element = reshape.results[0].type.shape, scaled.type.element_type
        reshape.results[0].set_type(ir.RankedTensorType.get(shape, element, loc=reshape.location))
        scaled = reshape.results[0]
    users[-1].results[0].replace_all_uses_with(scaled)
    for user in reversed(users):
        user.erase()


def _user(op: Any) -> Any:
    (use,) = op.results[0].uses
    return use.owner.operation


def _of_group(op: Any, sums: Sums) -> Sums:
    """Returns the sums of the channels whose weights the op has; of groups, the converter makes an op of each."""
    if sums.kind != "CONV_2D" or (slice_ := op.operands[1].owner).name != "tosa.slice":
        return sums
    assert sums.weights is not None
    first, count = (int(each.owner.attributes["values"][0]) for each in slice_.operands[1:])
    own = slice(first, first + count)
    bias, scales = (each[own] if len(each) > 1 else each for each in (sums.bias, sums.scales))
    return replace(sums, weights=sums.weights[own], bias=bias, scales=scales)


def _convolution(op: Any, sums: Sums) -> str:
    assert sums.weights is not None
    weights = sums.weights
    if weights.ndim == 2:
        weights = weights[:, None, None]
    stride, dilation = (_numbers(op.attributes[name]) for name in ("stride", "dilation"))
    padding, image = _padded(op)
    return _window(op, sums, padding, image, weights.transpose(1, 2, 3, 0), stride, dilation)


def _transposed(op: Any, sums: Sums) -> str:
    """Returns a convolution of the image with zeros between its pixels."""
    assert sums.weights is not None
    weights = sums.weights[:, ::-1, ::-1].transpose(1, 2, 3, 0)
    given, steps = list(op.operands[0].type.shape), (1, *op.attributes["stride"], 1)
    top, bottom, left, right = op.attributes["out_pad"]
    rows, columns = weights.shape[0] - 1, weights.shape[1] - 1
    low, high = (0, rows + top, columns + left, 0), (0, rows + bottom, columns + right, 0)
    whole = [
        before + (size - 1) * step + 1 + behind
        for before, size, step, behind in zip(low, given, steps, high, strict=True)
    ]
    image = tensor(whole, "i16")
    padding = f"""
  %nothing = arith.constant 0 : i16
  %around = tensor.empty() : {image}
  %black = linalg.fill ins(%nothing : i16) outs(%around : {image}) -> {image}
  %padded = tensor.insert_slice %image into %black[{_numbers(low)}] [{_numbers(given)}] [{_numbers(steps)}]
    : {tensor(given, "i16")} into {image}"""
    return _window(op, sums, padding, image, weights, "1, 1", "1, 1")


def _window(
    op: Any, sums: Sums, padding: str, image: str, weights: Array, stride: str, dilation: str
) -> str:
    """Returns a convolution of %padded, which `padding` makes, with weights [row, column, input, output]."""
    made = list(op.results[0].type.shape)
    result = tensor(made, f"i{sums.bits}")
    return f"""
func.func @sums(%image: {op.operands[0].type}) -> {result} {{{padding}
  %weights = {constant(weights)}{_zeros(result, sums)}
  %sums = linalg.conv_2d_nhwc_hwcf {{strides = dense<[{stride}]> : vector<2xi64>,
    dilations = dense<[{dilation}]> : vector<2xi64>}}
    ins(%padded, %weights : {image}, {tensor(weights.shape, "i8")}) outs(%zeros : {result}) -> {result}
{_biased(made, sums)}
}}"""


def _depthwise(op: Any, sums: Sums) -> str:
    assert sums.weights is not None
    made = list(op.results[0].type.shape)
    _, rows, columns, channels = sums.weights.shape
    inputs = op.operands[0].type.shape[3]
    weights = sums.weights.reshape(rows, columns, inputs, channels // inputs)
    stride, dilation = (_numbers(op.attributes[name]) for name in ("stride", "dilation"))
    padding, image = _padded(op)
    apart = [*made[:3], *weights.shape[2:]]
    each, result = (tensor(shape, f"i{sums.bits}") for shape in (apart, made))
    return f"""
func.func @sums(%image: {op.operands[0].type}) -> {result} {{{padding}
  %weights = {constant(weights)}{_zeros(each, sums)}
  %each = linalg.depthwise_conv_2d_nhwc_hwcm {{strides = dense<[{stride}]> : vector<2xi64>,
    dilations = dense<[{dilation}]> : vector<2xi64>}}
    ins(%padded, %weights : {image}, {tensor(weights.shape, "i8")}) outs(%zeros : {each}) -> {each}
  %sums = tensor.collapse_shape %each [[0], [1], [2], [3, 4]] : {each} into {result}
{_biased(made, sums)}
}}"""


def _matrices(op: Any, sums: Sums) -> str:
    a, b = (operand.type for operand in op.operands[:2])
    result = tensor(list(op.results[0].type.shape), f"i{sums.bits}")
    return f"""
func.func @sums(%a: {a}, %b: {b}) -> {result} {{{_zeros(result, sums)}
  %sums = linalg.batch_matmul ins(%a, %b : {a}, {b}) outs(%zeros : {result}) -> {result}
  return %sums : {result}
}}"""


def _padded(op: Any) -> tuple[str, str]:
    """Returns what makes %padded of %image, and its type."""
    top, bottom, left, right = op.attributes["pad"]
    given = op.operands[0].type
    batch, rows, columns, channels = given.shape
    made = tensor((batch, top + rows + bottom, left + columns + right, channels), "i16")
    text = f"""
  %zero = arith.constant 0 : i16
  %padded = tensor.pad %image low[0, {top}, {left}, 0] high[0, {bottom}, {right}, 0] {{
  ^pixel(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : i16
  }} : {given} to {made}"""
    return text, made


def _zeros(result: str, sums: Sums) -> str:
    """Returns what makes %zeros, the sums' first values."""
    return f"""
  %none = arith.constant 0 : i{sums.bits}
  %empty = tensor.empty() : {result}
  %zeros = linalg.fill ins(%none : i{sums.bits}) outs(%empty : {result}) -> {result}"""


def _biased(shape: list[int], sums: Sums) -> str:
    """Returns the end of a function, which adds each channel's bias to %sums."""
    result = tensor(shape, f"i{sums.bits}")
    if not sums.bias.any():
        return f"  return %sums : {result}"
    bias = sums.bias.astype(f"int{sums.bits}")
    return f"""
  %bias = {constant(bias)}
  %room = tensor.empty() : {result}
  %biases = linalg.broadcast ins(%bias : {tensor(bias.shape, f"i{sums.bits}")}) outs(%room : {result})
    dimensions = [0, 1, 2]
  %biased = arith.addi %sums, %biases : {result}
  return %biased : {result}"""


def _numbers(numbers: Any) -> str:
    return ", ".join(map(str, numbers))


def _scaling(shape: list[int], sums: Sums) -> str:
    if sums.kind == "FULLY_CONNECTED":
        return tflite_scaling.by_double(shape, sums.bits, sums.scales)
    if sums.bits == 32:
        return tflite_scaling.by_integers(shape, sums.scales, in_32_bits=sums.in_32_bits)
    return tflite_scaling.by_wide_integers(shape, sums.scales)


_TEXTS = {
    "tosa.conv2d": _convolution,
    "tosa.depthwise_conv2d": _depthwise,
    "tosa.matmul": _matrices,
    "tosa.transpose_conv2d": _transposed,
}
