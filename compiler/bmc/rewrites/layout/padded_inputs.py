"""Copies whole rows of an input image into its padded buffer.

An image has few channels, and IREE copies them pixel by pixel, with vectors as short as a pixel. A row of pixels
lies in one piece, also in the padded buffer, so here it becomes one axis. A convolution that reads through the padding
needs no such buffer.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import ir_util, names, pad
from bmc.rewrites.context import Context
from bmc.rewrites.layout import copied_paddings

# A pixel of so many channels fills a vector by itself.
_MANY_CHANNELS = 16


def apply(module: Any, context: Context) -> None:
    """Rewrites paddings of inputs."""
    for op in ir_util.all_of(module, names.PAD):
        if _is_image(op) and not copied_paddings.is_read_through(op, context):
            _join(op)


def _is_image(op: ir_util.Op) -> bool:
    """Whether `op` pads an input with few channels, and leaves the channels alone."""
    if len(op.operands) != 1 or op.operands[0].type.rank < 2:
        return False
    maker = ir_util.definition(op.operands[0])
    low, high = _amounts(op)
    is_input = maker is not None and maker.name == names.BARRIER
    return is_input and low[-1] == high[-1] == 0 and op.operands[0].type.shape[-1] < _MANY_CHANNELS


def _amounts(op: ir_util.Op) -> tuple[list[int], list[int]]:
    low, high = (ir.DenseI64ArrayAttr(op.attributes[f"static_{side}"]) for side in ("low", "high"))
    return list(low), list(high)


def _join(op: ir_util.Op) -> None:
    source, result = op.operands[0].type, op.results[0].type
    low, high = _amounts(op)
    channels = source.shape[-1]
    groups = [[axis] for axis in range(source.rank - 2)] + [[source.rank - 2, source.rank - 1]]
    rows = {
        side: [*amounts[:-2], amounts[-2] * channels]
        for side, amounts in (("low", low), ("high", high))
    }
    (padding,) = op.regions[0].blocks[0].operations[0].operands
    with ir.InsertionPoint(op), op.location:
        joined = tensor.collapse_shape(_joined(source), op.operands[0], groups)
        padded = pad.padded(joined, rows["low"], rows["high"], padding)
        new = tensor.expand_shape(result, padded, groups, [], list(result.shape))
    op.results[0].replace_all_uses_with(new)
    op.erase()


def _joined(type_: Any) -> Any:
    *outer, pixels, channels = type_.shape
    return ir.RankedTensorType.get([*outer, pixels * channels], type_.element_type)
