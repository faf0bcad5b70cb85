"""Pads tensors with a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from bmc.ir import names


def padded(value: Any, low: Sequence[int], high: Sequence[int], number: Any) -> Any:
    """Returns a tensor with so many elements before and behind those of each axis, all equal to the scalar `number`."""
    source = value.type
    shape = [
        before + extent + behind
        for before, extent, behind in zip(low, source.shape, high, strict=True)
    ]
    pad = ir.Operation.create(
        names.PAD,
        [ir.RankedTensorType.get(shape, source.element_type)],
        [value],
        {
            "static_low": ir.DenseI64ArrayAttr.get(list(low)),
            "static_high": ir.DenseI64ArrayAttr.get(list(high)),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0]),
        },
        regions=1,
    )
    block = ir.Block.create_at_start(pad.regions[0], [ir.IndexType.get()] * source.rank)
    with ir.InsertionPoint(block):
        ir.Operation.create(names.PAD_YIELD, [], [number])
    return pad.result
