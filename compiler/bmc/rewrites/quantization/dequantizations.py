"""Reshapes int8 values before they are dequantized.

IREE makes a product integer if it reads what is dequantized. It cannot move a reshape between the two out of the way
if something else reads the values in their old shape, if the values were padded, or if the sentences of a batch are
joined for a product whose result has them apart again.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util, names


def apply(module: Any, _: object) -> None:
    """Swaps each dequantization that has one scale and a join of dimensions behind it, except those of constants."""
    for op in ir_util.all_of(module, names.COLLAPSE_SHAPE):
        made = ir_util.definition(op.operands[0])
        if made is not None and made.name == names.DEQUANTIZE and _has_one_scale(made):
            values = ir_util.definition(made.operands[0])
            if values is None or values.name != "arith.constant":
                _swap(op, made)


def _maps(made: ir_util.Op) -> list[ir.AffineMap]:
    return [ir.AffineMapAttr(item).value for item in ir.ArrayAttr(made.attributes["indexing_maps"])]


def _has_one_scale(made: ir_util.Op) -> bool:
    values, *scales, result = _maps(made)
    identity = ir.AffineMap.get_identity(values.n_dims)
    return values == result == identity and not any(scale.results for scale in scales)


def _swap(op: ir_util.Op, made: ir_util.Op) -> None:
    values, *scales, _ = made.operands
    result = op.results[0].type
    identity = ir.AffineMap.get_identity(result.rank)
    one = ir.AffineMap.get(result.rank, 0, [])
    maps = (identity, *(one for _ in scales), identity)
    joined = ir.RankedTensorType.get(result.shape, values.type.element_type)
    with ir.InsertionPoint(op), op.location:
        narrow = build.again(op, [joined], [values]).result
        empty = build.op(names.EMPTY, result)
        wide = build.again(made, [result], [narrow, *scales, empty], indexing_maps=build.maps(maps))
    op.results[0].replace_all_uses_with(wide.result)
    op.erase()
