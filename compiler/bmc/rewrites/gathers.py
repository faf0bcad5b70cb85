"""Gathers read the right elements of buffers with gaps between their rows.

IREE vectorizes `tensor.extract` from a tensor of several dimensions to `vector.gather` with one number
for each element: which it is, counted row by row. LLVM adds that number to an address. Between the rows
of a slice lies the rest of the larger tensor, so everything behind the first row would be read from the
wrong place, see docs/upstream/iree-strided-gather.md. Here the numbers become distances in memory.
"""

from __future__ import annotations

import math
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, memref, vector

from bmc.errors import BmcError
from bmc.ir import ir_util
from bmc.rewrites.context import Context

_INDEXED = ("vector.gather", "vector.scatter", "vector.load")


def apply(module: Any, _: Context) -> None:
    """Rewrites gathers from buffers with gaps.

    Raises:
      BmcError: a kernel indexes such a buffer in a way that is not understood.
    """
    for op in [op for op in ir_util.walk(module.operation) if op.name in _INDEXED]:
        if not _is_right(op):
            _count_in_memory(op)


def _is_right(op: ir_util.Op) -> bool:
    """Whether elements counted from where `op` begins are where LLVM looks for them."""
    buffer = op.operands[0].type
    if op.name == "vector.load":
        # More than a row of it: a gather of the first elements, which canonicalization makes a load.
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
    """Replaces a gather by one that counts in memory."""
    buffer = op.operands[0].type
    strides, _ = buffer.get_strides_and_offset()
    is_static = buffer.has_static_shape and not any(
        map(buffer.is_dynamic_stride_or_offset, strides)
    )
    # What LLVM is asked to read has no gaps between elements.
    is_known = is_static and strides[-1] == 1
    if op.name != "vector.gather" or not is_known or not _begins_at_zero(op):
        raise BmcError(
            "strided-gather",
            f"a kernel made of this op has {op.name} on {buffer}, whose elements do not follow"
            " each other in memory: IREE would read others",
            where=ir_util.place([op]),
            hint="rewrite that part of the model with other ops",
        )
    counted, mask, otherwise = list(op.operands)[1 + buffer.rank :]
    with ir.InsertionPoint(op), op.location:
        new = vector.gather(
            op.results[0].type,
            _first_row(op.operands[0]),
            [arith.constant(ir.IndexType.get(), 0)],
            _distances(counted, list(buffer.shape), strides),
            mask,
            otherwise,
        )
    op.results[0].replace_all_uses_with(new)
    op.erase()


def _first_row(buffer: ir_util.Value) -> Any:
    """The first row of `buffer`, from whose begin LLVM finds all of it."""
    old = buffer.type
    strides, offset = old.get_strides_and_offset()
    layout = ir.StridedLayoutAttr.get(offset, strides[-1:])
    row = ir.MemRefType.get(old.shape[-1:], old.element_type, layout, old.memory_space)
    ones = [1] * old.rank
    # Not a reinterpret_cast: IREE counts the offset of a binding twice there.
    sizes = [*ones[1:], old.shape[-1]]
    return memref.SubViewOp(row, buffer, [], [], [], [0] * old.rank, sizes, ones).result


def _distances(counted: ir_util.Value, shape: list[int], strides: list[int]) -> Any:
    """Where elements lie whose numbers, row by row, are `counted`.

    With q = number of whole rows (planes, ...) before an element, its distance is the sum over all
    dimensions of q * (stride - extent * stride of the next dimension); where there is no gap that is 0.
    """
    dimensions = [(n, stride) for n, stride in zip(shape, strides, strict=True) if n != 1]
    result = None
    elements, gap_free = 1, 0
    for n, stride in reversed(dimensions):
        if stride != gap_free:
            rows = counted if elements == 1 else arith.divui(counted, _all(elements, counted.type))
            term = arith.muli(rows, _all(stride - gap_free, counted.type))
            result = term if result is None else arith.addi(result, term)
        elements, gap_free = elements * n, stride * n
    return _all(0, counted.type) if result is None else result


def _all(value: int, type_: Any) -> Any:
    """A vector of that type, of one number."""
    number = ir.IntegerAttr.get(type_.element_type, value)
    return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, number))
