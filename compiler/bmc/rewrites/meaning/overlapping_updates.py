"""Gives an update of a tensor a copy of what it writes, if that is a part of the same tensor.

IREE updates in place and leaves the copy out, so a part that lies over its own new place would be overwritten while it
is read. Whole rows at places that are known become transfers, which a plan orders itself (plan/build.py).
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import constant_arrays, ir_util, names, stablehlo

# Of the copies, so that none is merged with the copy of a sort.
_FIRST = 1 << 16
# What IREE may compute without a buffer of its own.
_VIEWS = (
    "stablehlo.broadcast_in_dim", "stablehlo.dynamic_slice", "stablehlo.reshape", "stablehlo.slice",
    names.CAST, names.COLLAPSE_SHAPE, names.EXPAND_SHAPE, names.EXTRACT_SLICE,
)  # fmt: skip


def apply(module: Any, _: object = None) -> None:
    """Rewrites the updates of tensors with parts of themselves that become no transfers."""
    for index, op in enumerate(ir_util.all_of(module, "stablehlo.dynamic_update_slice")):
        if not _moves_rows(op, module):
            _rewrite(op, index)


def apply_on_host(module: Any) -> None:
    """Rewrites all of them: IREE's own runtime refuses such transfers."""
    for index, op in enumerate(ir_util.all_of(module, "stablehlo.dynamic_update_slice")):
        _rewrite(op, index)


def _rewrite(op: ir_util.Op, index: int) -> None:
    target, update = op.operands[0], op.operands[1]
    whole = ir_util.behind(target, _VIEWS)
    if ir_util.behind(update, _VIEWS) == whole and update != target:
        with ir.InsertionPoint(op), op.location:
            op.operands[1] = stablehlo.copied(update, _FIRST + index)


def _moves_rows(op: ir_util.Op, module: Any) -> bool:
    """Whether an update moves whole neighboring rows from one known place to another."""
    target, update, *starts = list(op.operands)
    source = ir_util.definition(update)
    return (
        list(target.type.shape)[1:] == list(update.type.shape)[1:]
        and source is not None
        and source.name == "stablehlo.slice"
        and set(ir.DenseI64ArrayAttr(source.attributes["strides"])) == {1}
        and all(constant_arrays.integers(start, module) is not None for start in starts)
    )
