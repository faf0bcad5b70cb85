"""Reads a dispatch as a scatter of rows."""

from __future__ import annotations

import math
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, names
from bmc.kernels.problem.scatter import Scatter
from bmc.kernels.read.views import LOAD, STORE
from bmc.kernels.unsupported import Unsupported

_SCATTER = "iree_linalg_ext.scatter"


def read(function: ir_util.Op) -> tuple[Scatter, tuple[Any, ...]]:
    """Returns the scatter of a dispatch function, and its operands, which are buffers: updates, indices and rows.

    Raises:
      Unsupported: the function is not a single scatter of whole contiguous rows.
    """
    ops = list(ir_util.walk(function))
    scatters = [op for op in ops if op.name == _SCATTER]
    stores = [op for op in ops if op.name == STORE]
    if len(scatters) != 1 or len(stores) != 1:
        raise Unsupported("a dispatch that is not a single scatter with one store")
    (scatter,), (store,) = scatters, stores
    (block,) = scatter.regions[0].blocks
    if len(block.operations) != 1 or block.operations[0].operands[0] != block.arguments[0]:
        raise Unsupported("a scatter that computes what it stores")
    operands = tuple(map(_buffer, scatter.operands))
    if store.operands[0] != scatter.results[0] or store.operands[1] != operands[2]:
        raise Unsupported("a scatter that is not in place")
    if _source(operands[0]) == _source(operands[2]):
        raise Unsupported("a scatter of rows that it also writes")
    updates, indices, rows = (operand.type for operand in operands)
    ones = [1] * (indices.rank - 1)
    if (
        list(ir.DenseI64ArrayAttr(scatter.attributes["dimension_map"])) != [0]
        or list(indices.shape) != [updates.shape[0], *ones]
        or list(updates.shape)[1:] != list(rows.shape)[1:]
        or str(indices.element_type) not in ("i32", "i64")
        or str(updates.element_type) == "i1"
    ):
        raise Unsupported("a scatter of parts of rows")
    if not updates.has_static_shape or 0 in updates.shape:
        raise Unsupported("a scatter of nothing, or of what only the data decide")
    row_bytes = math.prod(rows.shape[1:]) * ir_util.element_bytes(rows.element_type)
    problem = Scatter(updates.shape[0], rows.shape[0], row_bytes, indices.element_type.width // 8)
    return problem, operands


def _source(buffer: Any) -> Any:
    """Returns the number of the binding that a buffer is a part of, or the argument of the function."""
    while (owner := ir_util.definition(buffer)) is not None:
        if owner.name == names.SUBSPAN:
            return ir.IntegerAttr(owner.attributes["binding"]).value
        buffer = owner.operands[0]
    return buffer


def _buffer(value: Any) -> Any:
    """Returns the buffer that holds a tensor; raises Unsupported if there is none, or if it is not contiguous."""
    owner = ir_util.definition(value)
    if owner is None or owner.name != LOAD:
        raise Unsupported("an operand that the dispatch computes")
    buffer = owner.operands[0]
    strides, _ = buffer.type.get_strides_and_offset()
    inner = 1
    for stride, extent in zip(reversed(strides), reversed(buffer.type.shape), strict=True):
        if stride != inner and extent != 1:
            raise Unsupported("a scatter of rows that are not contiguous")
        inner *= extent
    return buffer
