"""Keeps apart tensors that are filled with the same 64 bits and then written.

IREE takes fills of one pattern and size for one value, and repeats the fill for each reader. If the halves of the 64
bits differ, the fill is a kernel, which IREE does not repeat. So each writer changes what the others read
(docs/upstream/iree-shared-splats.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import build, ir_util

_SPLAT = "flow.tensor.splat"
_WIDE = 64
_HALF = (1 << 32) - 1


def apply(module: Any, _: object = None) -> None:
    """Gives each reader of such a fill one of its own, and each but the first a number that IREE does not know."""
    splats = [
        (op, bits)
        for op in ir_util.all_of(module, _SPLAT)
        if (bits := _bits(op)) is not None and bits & _HALF != bits >> 32
    ]
    fills = [(fill, bits) for op, bits in splats for fill in (op, *_others(op))]
    for fill, bits in fills[1:]:
        _hide(fill, bits)


def _bits(op: ir_util.Op) -> int | None:
    """Returns the 64 bits of a splat of a constant, None of any other one."""
    element = ir_util.element_type(op.results[0].type)
    value = ir_util.definition(op.operands[0])
    if not isinstance(element, (ir.F64Type, ir.IntegerType)) or element.width != _WIDE:
        return None
    if value is None or value.name != "arith.constant" or len(op.operands) > 1:
        return None  # Sizes that are not known are refused later.
    attribute = value.attributes["value"]
    if isinstance(attribute, ir.FloatAttr):
        return int(np.float64(attribute.value).view(np.uint64))
    return int(ir.IntegerAttr(attribute).value) & (1 << _WIDE) - 1


def _others(op: ir_util.Op) -> list[ir_util.Op]:
    """Returns a splat for each use but the first."""
    made = []
    for user, place in ir_util.uses(op.results[0])[1:]:
        with ir.InsertionPoint(op), op.location:
            copy = build.again(op, [op.results[0].type], list(op.operands))
        user.operands[place] = copy.results[0]
        made.append(copy)
    return made


def _hide(fill: ir_util.Op, bits: int) -> None:
    """Fills with an integer that IREE does not know, because the host program has no floats."""
    kind = fill.results[0].type
    integer = ir.IntegerType.get_signless(_WIDE)
    owner = ir_util.definition(fill.operands[0])
    # As early as possible: IREE puts what comes before it and behind it into command buffers of their own.
    with ir.InsertionPoint(owner), fill.location:
        signed = bits - (1 << _WIDE) if bits >> (_WIDE - 1) else bits
        number = build.op("arith.constant", integer, value=ir.IntegerAttr.get(integer, signed))
        number = build.same("util.optimization_barrier", number)
    with ir.InsertionPoint(fill), fill.location:
        whole = ir.RankedTensorType.get(kind.shape, integer)
        made = build.op(_SPLAT, whole, number)
        if kind != whole:
            sizes = ir.DenseI32ArrayAttr.get([1, 0, 0])
            made = build.op("flow.tensor.bitcast", kind, made, operandSegmentSizes=sizes)
    fill.results[0].replace_all_uses_with(made)
    fill.erase()
