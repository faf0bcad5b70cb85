"""Quantizations: whether they treat all numbers alike, of another tensor, and as elementwise operations."""

from __future__ import annotations

from typing import Any

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import build, ir_util, names, permute
from bmc.rewrites.layout import images


def is_uniform(op: ir_util.Op) -> bool:
    """Whether `op` quantizes a tensor to signed bytes in the same order, with one scale and one zero point."""
    if op.name != names.QUANTIZE or str(op.results[0].type.element_type) != "i8":
        return False
    numbers = [ir_util.definition(each) for each in list(op.operands)[1:-1]]
    if any(number is None or number.name != "arith.constant" for number in numbers):
        return False
    scale = ir_util.float_constant(op.operands[1])
    maps = permute.maps(op)
    identity = ir.AffineMap.get_identity(maps[0].n_dims)
    return scale is not None and scale > 0 and maps[0] == maps[-1] == identity


def of(op: ir_util.Op, source: Any) -> Any:
    """Returns `source` as `op` would quantize it, which is_uniform(), before the insertion point.

    A tensor that was quantized in the same way before is that again.
    """
    made = ir_util.definition(source)
    if made is not None and made.name == names.DEQUANTIZE and are_alike(made, op):
        return made.operands[0]
    type_ = source.type
    bytes_ = ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_signless(8))
    _, *numbers, _ = op.operands
    # Scale and zero point may come later than the insertion point.
    copies = [each.owner.operation.clone().results[0] for each in numbers]
    empty = tensor.empty(type_.shape, bytes_.element_type)
    maps = uniform_maps(type_.rank, len(copies) + 2)
    return build.again(op, [bytes_], [source, *copies, empty], indexing_maps=maps).result


def uniform_maps(rank: int, operands: int) -> Any:
    """Returns the indexing maps of an operation with so many operands, which treats all numbers alike."""
    whole, one = ir.AffineMap.get_identity(rank), ir.AffineMap.get(rank, 0, [])
    return build.maps([whole, *[one] * (operands - 2), whole])


def integer(op: ir_util.Op, number: float) -> int:
    """Returns what `op`, which is_uniform(), makes of a number that is not NaN."""
    scale, zero_point = ir_util.float_constant(op.operands[1]), _zero_point(op)
    assert scale is not None and zero_point is not None
    low, high = (ir.IntegerAttr(op.attributes[f"quant_{end}"]).value for end in ("min", "max"))
    quotient = np.rint(np.float32(number) / np.float32(scale)) + zero_point
    return int(np.clip(quotient, low, high))


def are_alike(a: ir_util.Op, b: ir_util.Op) -> bool:
    """Whether two operations quantize or dequantize the same integers with the same constants."""
    return _parameters(a) == _parameters(b)


def _parameters(op: ir_util.Op) -> list[str]:
    values = op.operands[0] if op.name == names.DEQUANTIZE else op.results[0]
    numbers = [ir_util.definition(each) for each in list(op.operands)[1:-1]]
    return [
        str(values.type.element_type),
        *(
            str(n.attributes["value"]) if n and n.name == "arith.constant" else str(id(n))
            for n in numbers
        ),
        *(str(op.attributes[f"quant_{end}"]) for end in ("min", "max")),
    ]


def spelled_out(op: ir_util.Op, source: Any) -> Any:
    """Returns what `op` makes of the image `source`, computed as IREE does.

    None unless `op` quantizes an image to signed bytes, or dequantizes one, with one scale and one zero point.
    """
    if op.name not in (names.QUANTIZE, names.DEQUANTIZE):
        return None
    maps = [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(op.attributes["indexing_maps"])]
    identity = ir.AffineMap.get_identity(images.RANK)
    types = [str(each.type.element_type) for each in (op.operands[0], op.results[0])]
    scale, zero_point = ir_util.float_constant(op.operands[1]), _zero_point(op)
    low, high = (ir.IntegerAttr(op.attributes[f"quant_{end}"]).value for end in ("min", "max"))
    if (
        maps[0] != identity
        or maps[-1] != identity
        or sorted(types) != ["f32", "i8"]
        or scale is None
        or zero_point is None
        or low >= 0
    ):
        return None
    return permute.computed(
        source,
        source.type.shape,
        op.results[0].type.element_type,
        identity,
        lambda x: (
            _quantized(x, scale, zero_point, low, high)
            if op.name == names.QUANTIZE
            else _dequantized(x, scale, zero_point)
        ),
    )


def _quantized(x: Any, scale: float, zero_point: int, low: int, high: int) -> Any:
    f32 = x.type
    if scale != 1:
        x = build.op("arith.divf", f32, x, _f32(scale))
    x = build.op("math.roundeven", f32, x)
    if zero_point:
        x = build.op("arith.addf", f32, x, _f32(zero_point))
    x = build.op("arith.maxnumf", f32, x, _f32(low))
    x = build.op("arith.minnumf", f32, x, _f32(high))
    return build.op("arith.fptosi", ir.IntegerType.get_signless(8), x)


def _dequantized(x: Any, scale: float, zero_point: int) -> Any:
    i32, f32 = ir.IntegerType.get_signless(32), ir.F32Type.get()
    x = build.op("arith.extsi", i32, x)
    if zero_point:
        x = build.op("arith.subi", i32, x, build.number(zero_point, i32))
    return build.op("arith.mulf", f32, build.op("arith.sitofp", f32, x), _f32(scale))


def _f32(number: float) -> Any:
    return build.number(number, ir.F32Type.get())


def _zero_point(op: ir_util.Op) -> int | None:
    """Returns the zero point, which IREE leaves out if it is 0; None if it is not one constant."""
    if len(op.operands) == 3:
        return 0
    value = op.operands[2]
    return ir_util.constant(value) if isinstance(value.type, ir.IntegerType) else None
