"""Lays out the operands of matrix products in the order that kernels read fastest.

`x @ W^T`, which is what every torch.nn.Linear computes, reaches code generation as a matmul with its right
operand indexed [N, K]. The vector code for that is some 20 times slower than for [K, N].

A weight is transposed at build time, and all its readers change with it, so there is never a second copy:
matmuls get a new indexing map, and gathers from the same table (tied embeddings) a new order of indices.
If a product of one row has few columns, summing along K is faster, so that its weight is stored as [N, K].
An operand computed at run time, such as K in Q @ K^T, is transposed by a kernel of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from bmc.ir import build, contraction, ir_util, names, permute
from bmc.ir.contraction import Axis, Contraction
from bmc.kernels.schedule import dot
from bmc.rewrites.context import Context
from bmc.rewrites.kernels import own_kernels

_B = 1
_NAMED = (names.MATMUL, names.BATCH_MATMUL)
# With this many columns or more, a product of one row is faster with vectors of columns: in IREE's kernels, and in
# bmc's own, if there are not many more rows.
_MANY_COLUMNS, _FEW_COLUMNS = 64, 8
# Whether a product of one row has few columns: of its element type, its columns, and the products for each.
_IsNarrow = Callable[[str, int, int], bool]


def apply(module: Any, context: Context) -> None:
    """Transposes operands; records the new layout of weights in `context`."""
    is_narrow = functools.partial(_is_narrow, context)
    products = [op for op in ir_util.walk(module.operation) if op.name in _NAMED]
    loads: dict[str, list[ir_util.Op]] = {}
    for op in ir_util.all_of(module, names.GLOBAL_LOAD):
        loads.setdefault(ir_util.string(op, "global"), []).append(op)
    for op in ir_util.all_of(module, names.GLOBAL):
        kind = ir.TypeAttr(op.attributes["type"]).value
        name = ir_util.string(op, "sym_name")
        is_tensor = isinstance(kind, ir.RankedTensorType)
        if not is_tensor or name in context.permutations or "is_mutable" in op.attributes:
            continue
        if _can_transpose(loads.get(name, []), is_narrow):
            context.permutations[name] = _swap_last_two(kind)
            _transpose_weight(op, loads[name], context.permutations[name])
        elif _is_row_of_few_columns(loads.get(name, []), context):
            context.permutations[name] = _swap_last_two(kind)
            _store_columns(op, loads[name])
    for op in products:
        if _is_transposed_b(op, _B, is_narrow) and op.results[0].type.shape[-2] > 1:
            _transpose_at_run_time(op)


def _is_narrow(context: Context, dtype: str, columns: int, inner: int) -> bool:
    if not own_kernels.applies(context):
        return columns < _MANY_COLUMNS
    return columns < _FEW_COLUMNS or _is_sum_of_lanes(context, dtype, columns, inner)


def _is_sum_of_lanes(context: Context, dtype: str, columns: int, inner: int) -> bool:
    vlen = context.target.vlen_bits
    return own_kernels.applies(context) and dot.is_faster(dtype, columns, inner, vlen)


def _can_transpose(loads: list[ir_util.Op], is_narrow: _IsNarrow) -> bool:
    """Whether a product needs the weight transposed and every other reader can be changed to match."""
    readers = [use for load in loads for use in ir_util.uses(load.results[0])]
    return any(_is_transposed_b(*use, is_narrow) for use in readers) and all(
        _is_transposed_b(*use, is_narrow) or _is_gather(*use) for use in readers
    )


def _is_row_of_few_columns(loads: list[ir_util.Op], context: Context) -> bool:
    """Whether a weight [k, n] is only read by products of one row, which are faster with [n, k]."""
    readers = [use for load in loads for use in ir_util.uses(load.results[0])]
    if not readers or any(op.name != "linalg.vecmat" or place != _B for op, place in readers):
        return False
    kind = loads[0].results[0].type
    inner, columns = kind.shape
    return _is_sum_of_lanes(context, str(kind.element_type), columns, inner)


def _is_transposed_b(op: ir_util.Op, operand: int, is_narrow: _IsNarrow) -> bool:
    """Whether `op` is a product and reads the operand as [..., n, k], with enough n if it has one row."""
    if operand != _B or op.name not in (*_NAMED, names.GENERIC):
        return False
    product = contraction.read(op)
    if product is None or not product.result or not product.a:
        return False
    columns, inner = product.result[-1], product.a[-1]
    if not inner.is_plain or inner.loop in product.result:
        return False
    if product.b[-2:] != (columns, inner.loop):
        return op.name not in _NAMED and _is_convolution_in_groups(op, product, is_narrow)
    return op.name in _NAMED or _is_convolution_of_pixels(op, product, is_narrow)


def _is_convolution_of_pixels(op: ir_util.Op, product: Contraction, is_narrow: _IsNarrow) -> bool:
    """Whether the result [..., n] is the sum over k of a[..., k] * b[n, k]: a 1x1 convolution.

    Excludes products of one row with few columns, because summing along k is faster there.
    """
    pixels = tuple(Axis(loop) for loop in product.result[:-1])
    kind = op.operands[_B].type
    return (
        len(product.b) == 2
        and product.a[:-1] == pixels
        and (len(pixels) > 0 or not is_narrow(str(kind.element_type), *kind.shape))
    )


def _is_convolution_in_groups(op: ir_util.Op, product: Contraction, is_narrow: _IsNarrow) -> bool:
    """Whether the result is the sum over k of a[..., g, k] * b[g, n, k], with its axes in any order.

    Excludes groups of few n, which are summed along k.
    """
    *groups, columns, inner = product.b if len(product.b) > 2 else (0, 0, -1)
    read = [axis.loop for axis in product.a]
    kind = op.operands[_B].type
    return (
        inner == read[-1]
        and all(axis.is_plain for axis in product.a)
        and {columns, *groups} <= set(product.result)
        and set(groups) <= set(read)
        and columns not in read
        # It has many rows, for which lanes are not added up.
        and not is_narrow(str(kind.element_type), kind.shape[-2], 1)
    )


def _is_gather(op: ir_util.Op, operand: int) -> bool:
    return op.name == names.EXTRACT and operand == 0


def _swap_last_two(tensor_type: Any) -> tuple[int, ...]:
    rank = len(tensor_type.shape)
    return (*range(rank - 2), rank - 1, rank - 2)


def _make_plain(product: ir_util.Op) -> None:
    maps = list(product.attributes["indexing_maps"])
    transposed = ir.AffineMapAttr(maps[_B]).value
    *batch, columns, inner = transposed.results
    maps[_B] = ir.AffineMapAttr.get(
        ir.AffineMap.get(transposed.n_dims, 0, [*batch, inner, columns])
    )
    product.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)


def _transpose_weight(
    global_op: ir_util.Op, loads: list[ir_util.Op], axes: tuple[int, ...]
) -> None:
    new_type = permute.permuted(loads[0].results[0].type, axes)
    ir_util.retype_global(global_op, new_type)
    for load in loads:
        new_load = build.load_again(load, new_type)
        for op, operand in ir_util.uses(load.results[0]):
            op.operands[operand] = new_load
            if operand == _B:
                _make_plain(op)
            else:
                # Operands: the table, then one index for each of its dimensions.
                indices = list(op.operands)[1:]
                for position, axis in enumerate(axes):
                    op.operands[1 + position] = indices[axis]
        load.erase()


def _store_columns(global_op: ir_util.Op, loads: list[ir_util.Op]) -> None:
    """Stores a weight as [n, k], and makes products of a matrix and a vector of those that read it."""
    new_type = permute.permuted(loads[0].results[0].type, (1, 0))
    ir_util.retype_global(global_op, new_type)
    for load in loads:
        new_load = build.load_again(load, new_type)
        for op, _ in ir_util.uses(load.results[0]):
            row, _, start = op.operands
            with ir.InsertionPoint(op), op.location:
                product = linalg.matvec(new_load, row, outs=[start])
            op.results[0].replace_all_uses_with(product)
            op.erase()
        load.erase()


def _transpose_at_run_time(product: ir_util.Op) -> None:
    """Inserts a transposition before the product.

    A named op remains a kernel of its own. A linalg.generic would fuse into the matmul that produces the
    operand: no faster on BERT, but with 8 KB more code and 9 KB more stack.
    """
    operand = product.operands[_B]
    axes = _swap_last_two(operand.type)
    with ir.InsertionPoint(product), product.location:
        empty = tensor.empty(permute.permuted(operand.type, axes).shape, operand.type.element_type)
        transpose = linalg.transpose(operand, outs=[empty], permutation=list(axes))
    product.operands[_B] = transpose.results[0]
    _make_plain(product)
