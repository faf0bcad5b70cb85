"""Lets kernels write through views that vectorize.

A result stored into the middle of a padded buffer may have lost a dimension of extent 1 on the way. IREE
then scatters it byte by byte from a buffer on the stack. Here the destination gets that dimension back,
and the kernel writes to it directly.
"""

from __future__ import annotations

import math
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, names
from bmc.rewrites.context import Context


def apply(module: Any, _: Context) -> None:
    """Rewrites stores that do no more than drop dimensions of extent 1."""
    for op in ir_util.all_of(module, "iree_linalg_ext.map_store"):
        _store_reshaped(op)


def _store_reshaped(op: ir_util.Op) -> None:
    """Turns store(map_store(value), buffer) into store(value, view of the buffer in the value's shape)."""
    value = op.operands[0]
    uses = ir_util.uses(op.results[0])
    if not _only_drops_units(op) or [use.name for use, _ in uses] != [names.STORE_TO_BUFFER]:
        return
    store = uses[0][0]
    buffer = store.operands[1]
    strides, offset = buffer.type.get_strides_and_offset()
    groups, new_strides = _groups(list(value.type.shape), list(buffer.type.shape), strides)
    with ir.InsertionPoint(store):
        index = ir.IntegerType.get_signless(64)
        view = ir.Operation.create(
            "memref.expand_shape",
            results=[_memref(list(value.type.shape), new_strides, offset, buffer.type)],
            operands=[buffer],
            attributes={
                "reassociation": ir.ArrayAttr.get(
                    [ir.ArrayAttr.get([ir.IntegerAttr.get(index, d) for d in g]) for g in groups]
                ),
                "static_output_shape": ir.DenseI64ArrayAttr.get(list(value.type.shape)),
            },
        )
    store.operands[0] = value
    store.operands[1] = view.results[0]
    op.erase()


def _only_drops_units(op: ir_util.Op) -> bool:
    """Whether the op stores all elements in order and only merges extents of 1 away."""
    block = op.regions[0].blocks[0]
    *indices, mask = block.operations[len(block.operations) - 1].operands
    order: list[Any] = []
    for index in indices:
        owner = index.owner
        merged = not isinstance(owner, ir.Block) and owner.name == "affine.linearize_index"
        order += list(owner.operands) if merged else [index]
    value, result = op.operands[0].type, op.results[0].type
    return (
        order == list(block.arguments)
        and str(mask.owner.attributes.get("value", "")) == "true"
        and [n for n in value.shape if n != 1] == [n for n in result.shape if n != 1]
        and result.rank > 0
    )


def _groups(
    shape: list[int], merged: list[int], strides: list[int]
) -> tuple[list[list[int]], list[int]]:
    """Returns which dimensions of `shape` form each dimension of `merged`, and the strides of `shape`."""
    groups: list[list[int]] = []
    new_strides: list[int] = []
    dimension = 0
    for position, (extent, stride) in enumerate(zip(merged, strides, strict=True)):
        group: list[int] = []
        is_last = position == len(merged) - 1
        while dimension < len(shape) and (
            is_last or not group or math.prod(shape[d] for d in group) != extent
        ):
            group.append(dimension)
            dimension += 1
        groups.append(group)
        for d in group:
            new_strides.append(stride * math.prod(shape[e] for e in group if e > d))
    return groups, new_strides


def _memref(shape: list[int], strides: list[int], offset: int, like: Any) -> Any:
    """Returns a buffer type with the element type and memory space of `like`."""
    layout = ir.StridedLayoutAttr.get(offset, strides)
    return ir.MemRefType.get(shape, like.element_type, layout, like.memory_space)
