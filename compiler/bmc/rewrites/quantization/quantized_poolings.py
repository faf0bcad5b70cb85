"""Poolings between quantized layers take the maximum of int8.

The maximum of dequantized numbers is the dequantized maximum of the quantized ones, and a quantized maximum is that of
the numbers quantized before.

A pooling between two quantized layers of an ONNX model is written for floats. On int8 it reads a quarter of the bytes.
IREE would also compute the whole image in each kernel that pools it, on the stack, and refuses large images.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from bmc.ir import build, contraction, ir_util, names, pad, permute
from bmc.rewrites.layout import max_poolings
from bmc.rewrites.quantization import quantizations

_LEAST = -128


def apply(module: Any, _: object) -> None:
    """Rewrites poolings of dequantized images, and poolings that only a quantization reads."""
    for op in ir_util.all_of(module, names.GENERIC):
        if max_poolings.is_pooling(op):
            image = ir_util.definition(op.operands[0])
            border = image if image is not None and _is_border(image, op) else None
            source = border.operands[0] if border else op.operands[0]
            dequantization, quantization = ir_util.definition(source), _quantization(op, source)
            if dequantization is not None and _keeps_order(dequantization):
                _pool_before(op, dequantization, border)
            elif quantization is not None:
                _pool_after(op, source, quantization, border)


def _keeps_order(op: ir_util.Op) -> bool:
    """Whether an operation makes floats of int8 that are in the same order."""
    if op.name != names.DEQUANTIZE or str(op.operands[0].type.element_type) != "i8":
        return False
    # A tensor of scales or zero points has one for each channel.
    if any(isinstance(each.type, ir.RankedTensorType) for each in list(op.operands)[1:-1]):
        return False
    scale = ir_util.float_constant(op.operands[1])
    return scale is not None and scale > 0


def _quantization(pooling: ir_util.Op, image: Any) -> ir_util.Op | None:
    """Returns what quantizes the result of a pooling, if nothing else reads that or the image."""
    readers = ir_util.uses(pooling.results[0])
    if len(readers) != 1 or len(ir_util.uses(image)) != 1:
        return None
    reader, place = readers[0]
    return reader if place == 0 and quantizations.is_uniform(reader) else None


def _is_border(op: ir_util.Op, pooling: ir_util.Op) -> bool:
    """Whether an operation pads an image with the least number, and every window of the pooling meets the image."""
    if op.name != names.PAD or len(op.operands) != 1:
        return False
    number = op.regions[0].blocks[0].operations[0].operands[0]
    if not max_poolings.is_least(ir_util.definition(number)):
        return False
    window = pooling.operands[1].type.shape
    axes, taps, _ = permute.maps(pooling)
    order = contraction.loops(taps) or ()
    extents = dict(zip(order, window, strict=False))
    for index, *around in zip(axes.results, *_around(op), strict=True):
        factors = contraction.terms(index) or {}
        met = [extents[loop] for loop, factor in factors.items() if loop in extents and factor == 1]
        if max(around) >= (met[0] if met else 1):
            return False
    return True


def _around(op: ir_util.Op) -> tuple[list[int], list[int]]:
    low, high = (list(ir.DenseI64ArrayAttr(op.attributes[f"static_{n}"])) for n in ("low", "high"))
    return low, high


def _pool_before(op: ir_util.Op, dequantization: ir_util.Op, border: ir_util.Op | None) -> None:
    """Pools before numbers are dequantized."""
    result = op.results[0].type
    with ir.InsertionPoint(op), op.location:
        pooled = _pooled(op, dequantization.operands[0], border)
        empty = tensor.empty(result.shape, result.element_type)
        floats = dequantization.clone(ir.InsertionPoint(op)).operation
    floats.operands[0], floats.operands[len(floats.operands) - 1] = pooled, empty
    floats.results[0].set_type(result)
    floats.attributes["indexing_maps"] = quantizations.uniform_maps(
        result.rank, len(floats.operands)
    )
    op.results[0].replace_all_uses_with(floats.results[0])
    op.erase()


def _pool_after(
    op: ir_util.Op, image: Any, quantization: ir_util.Op, border: ir_util.Op | None
) -> None:
    """Quantizes before numbers are pooled."""
    with ir.InsertionPoint(op), op.location:
        pooled = _pooled(op, quantizations.of(quantization, image), border)
    quantization.results[0].replace_all_uses_with(pooled)
    quantization.erase()
    op.erase()


def _pooled(op: ir_util.Op, image: Any, border: ir_util.Op | None) -> Any:
    """Returns what the pooling makes of an image of int8."""
    i8 = ir.IntegerType.get_signless(8)
    least = build.number(_LEAST, i8)
    if border is not None:
        image = pad.padded(image, *_around(border), least)
    kind = ir.RankedTensorType.get(op.results[0].type.shape, i8)
    start = linalg.fill(least, outs=[tensor.empty(kind.shape, i8)])
    pooled = op.clone(ir.InsertionPoint(op)).operation
    pooled.operands[0], pooled.operands[2] = image, start
    pooled.results[0].set_type(kind)
    block = pooled.regions[0].blocks[0]
    old = block.operations[0].operation
    for place in (0, 2):
        block.arguments[place].set_type(i8)
    with ir.InsertionPoint(old), old.location:
        new = build.op("arith.maxsi", i8, *old.operands)
    old.results[0].replace_all_uses_with(new)
    old.erase()
    return pooled.results[0]
