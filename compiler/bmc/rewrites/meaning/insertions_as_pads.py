"""Pads where the model inserts a tensor into one that is filled with a constant.

torch-mlir pads the operand of a transposed convolution in this way. IREE makes the insertion a part of the kernel
that computes the operand, and gives it a place of the wrong shape if that is a convolution.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, names, pad


def apply(module: Any, _: object = None) -> None:
    """Rewrites insertions of tensors of the same rank at constant places, without gaps."""
    for op in ir_util.all_of(module, names.INSERT_SLICE):
        source, target = op.operands[0].type, op.operands[1]
        fill = ir_util.definition(target)
        offsets, sizes, strides = (
            list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
            for name in ("offsets", "sizes", "strides")
        )
        if (
            len(op.operands) == 2
            and fill is not None
            and fill.name == names.FILL
            and sizes == source.shape
            and set(strides) == {1}
        ):
            _pad(op, fill.operands[0], offsets)


def _pad(op: ir_util.Op, number: ir_util.Value, low: list[int]) -> None:
    source, result = op.operands[0].type, op.results[0].type
    high = [
        whole - size - offset
        for whole, size, offset in zip(result.shape, source.shape, low, strict=True)
    ]
    with ir.InsertionPoint(op), op.location:
        padded = pad.padded(op.operands[0], low, high, number)
    op.results[0].replace_all_uses_with(padded)
    op.erase()
