"""Makes gathers read the right elements of buffers with gaps between rows.

IREE vectorizes `tensor.extract` from a tensor with several dimensions as a `vector.gather` that addresses
each element by its row-major index. LLVM adds that index to an address. But the rows of a slice have the
rest of the larger tensor between them, so LLVM would read everything after the first row from the wrong
place (docs/upstream/iree-strided-gather.md). Here the indices become distances in memory.
"""

from __future__ import annotations

import math
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, memref, vector

from bmc.errors import BmcError
from bmc.ir import build, ir_util
from bmc.rewrites.context import Context

_INDEXED = ("vector.gather", "vector.scatter", "vector.load")


def apply(module: Any, _: Context) -> None:
    """Rewrites gathers from buffers with gaps.

    Raises:
      BmcError: a kernel indexes such a buffer in a way that this rewrite does not know.
    """
    for op in [op for op in ir_util.walk(module.operation) if op.name in _INDEXED]:
        if not _is_right(op):
            _count_in_memory(op)


def _is_right(op: ir_util.Op) -> bool:
    """Whether LLVM finds the elements that `op` addresses by row-major index."""
    buffer = op.operands[0].type
    if op.name == "vector.load":
        # A load longer than a row was a gather of the first elements until canonicalization.
        return buffer.shape[-1:] >= op.results[0].type.shape[-1:] or _is_dense(buffer)
    return _is_dense(buffer) and (buffer.rank == 1 or _begins_at_zero(op))


def _is_dense(buffer: Any) -> bool:
    strides, _ = buffer.get_strides_and_offset()
    dense = [math.prod(buffer.shape[i + 1 :]) for i in range(buffer.rank)]
    return all(
        n == 1 or stride == wanted
        for n, stride, wanted in zip(buffer.shape, strides, dense, strict=True)
    )


def _begins_at_zero(op: ir_util.Op) -> bool:
    begin = list(op.operands)[1 : 1 + op.operands[0].type.rank]
    return all(ir_util.constant(index) == 0 for index in begin)


def _count_in_memory(op: ir_util.Op) -> None:
    """Replaces a gather with one whose indices are distances in memory."""
    buffer = op.operands[0].type
    strides, _ = buffer.get_strides_and_offset()
    is_static = buffer.has_static_shape and not any(
        map(buffer.is_dynamic_stride_or_offset, strides)
    )
    # A distance counts elements, so the elements of a row must be adjacent.
    is_known = is_static and strides[-1] == 1
    if op.name != "vector.gather" or not is_known or not _begins_at_zero(op):
        raise BmcError(
            "strided-gather",
            f"a kernel for this op has {op.name} on {buffer}, whose elements are not contiguous in"
            " memory: IREE would read the wrong ones",
            where=ir_util.place([op]),
            hint="rewrite that part of the model with other ops",
        )
    counted, mask, otherwise = list(op.operands)[1 + buffer.rank :]
    with ir.InsertionPoint(op), op.location:
        new = vector.gather(
            op.results[0].type,
            _first_row(op.operands[0]),
            [build.number(0, ir.IndexType.get())],
            _distances(counted, list(buffer.shape), strides),
            mask,
            otherwise,
        )
    op.results[0].replace_all_uses_with(new)
    op.erase()


def _first_row(buffer: ir_util.Value) -> Any:
    """The first row of `buffer`. LLVM reaches the whole buffer from the start of this row."""
    old = buffer.type
    strides, offset = old.get_strides_and_offset()
    layout = ir.StridedLayoutAttr.get(offset, strides[-1:])
    row = ir.MemRefType.get(old.shape[-1:], old.element_type, layout, old.memory_space)
    ones = [1] * old.rank
    # Not a reinterpret_cast: with that, IREE adds the offset of a binding twice.
    sizes = [*ones[1:], old.shape[-1]]
    return memref.SubViewOp(row, buffer, [], [], [], [0] * old.rank, sizes, ones).result


def _distances(counted: ir_util.Value, shape: list[int], strides: list[int]) -> Any:
    """Returns the distances in memory of the elements with row-major indices `counted`.

    Let q be the number of whole rows (planes, ...) before an element. Its distance is the sum over all
    dimensions of q * (stride - extent * stride of the next dimension). A dimension without gaps adds 0.
    """
    dimensions = [(n, stride) for n, stride in zip(shape, strides, strict=True) if n != 1]
    result = None
    elements, gap_free = 1, 0
    for n, stride in reversed(dimensions):
        if stride != gap_free:
            rows = (
                counted
                if elements == 1
                else arith.divui(counted, build.number(elements, counted.type))
            )
            term = arith.muli(rows, build.number(stride - gap_free, counted.type))
            result = term if result is None else arith.addi(result, term)
        elements, gap_free = elements * n, stride * n
    return build.number(0, counted.type) if result is None else result
