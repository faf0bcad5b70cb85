"""Gives an update of a tensor a copy of what it writes, if that is a part of the same tensor.

IREE updates in place and leaves the copy out, so a part that lies over its own new place would be overwritten while it
is read.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, stablehlo

# Of the copies, so that none is merged with the copy of a sort.
_FIRST = 1 << 16
# What IREE may compute without a buffer of its own.
_VIEWS = (
    "stablehlo.broadcast_in_dim", "stablehlo.dynamic_slice", "stablehlo.reshape", "stablehlo.slice",
    "tensor.cast", "tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice",
)  # fmt: skip


def apply(module: Any, _: object = None) -> None:
    """Rewrites the updates of tensors with parts of themselves."""
    for index, op in enumerate(ir_util.all_of(module, "stablehlo.dynamic_update_slice")):
        target, update = op.operands[0], op.operands[1]
        if _whole(update) == _whole(target) and update != target:
            with ir.InsertionPoint(op), op.location:
                op.operands[1] = stablehlo.copied(update, _FIRST + index)


def _whole(value: Any) -> Any:
    """Returns what a value is a part of."""
    owner = ir_util.definition(value)
    while owner is not None and owner.name in _VIEWS:
        value = owner.operands[0]
        owner = ir_util.definition(value)
    return value
