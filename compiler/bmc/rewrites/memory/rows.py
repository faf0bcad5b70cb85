"""Which rows of its operands an operation reads for each row of its result; rows are along the first axis."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import contraction, ir_util, names, permute
from bmc.strips.segment import Window

_SAME = Window()
# The rows of their result are what the same rows of each operand say.
_ALIKE = (names.BARRIER, names.FILL)


def windows(op: ir_util.Op) -> list[Window | None] | None:
    """Returns a window for each operand, None for one that every row reads whole; None if rows are not apart.

    Only operations with one static tensor as result, which has a first axis.
    """
    if len(op.results) != 1:
        return None
    kind = op.results[0].type
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape or not kind.rank:
        return None
    match op.name:
        case names.GENERIC:
            return _of_generic(op)
        case names.COLLAPSE_SHAPE:
            return _of_reshape(op, op.operands[0].type)
        case names.EXPAND_SHAPE:
            return _of_reshape(op, kind)
        case names.EMPTY:
            return []
        case names.BROADCAST:
            dimensions = list(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
            return [None if 0 in dimensions else _SAME, _SAME]
        case names.PAD if len(op.operands) == 1:
            low = ir.DenseI64ArrayAttr(op.attributes["static_low"])[0]
            return [Window(first=-low)]
        case names.EXTRACT_SLICE if len(op.operands) == 1:
            if op.operands[0].type.rank != kind.rank:
                return None
            offset = ir.DenseI64ArrayAttr(op.attributes["static_offsets"])[0]
            stride = ir.DenseI64ArrayAttr(op.attributes["static_strides"])[0]
            return [Window(stride, 1, offset)]
        case names.INSERT_SLICE if len(op.operands) == 2:
            whole = op.operands[0].type.rank == kind.rank
            return (
                [_SAME, _SAME] if whole and op.operands[0].type.shape[0] == kind.shape[0] else None
            )
        case name if name in _ALIKE:
            return [
                _SAME if isinstance(operand.type, ir.RankedTensorType) else None
                for operand in op.operands
            ]
    return None


def _of_reshape(op: ir_util.Op, long: Any) -> list[Window | None] | None:
    """`long` is the type with more axes, of which a row of the type with fewer has the first, or the second as well."""
    groups = ir.ArrayAttr(op.attributes["reassociation"])
    if not len(groups):
        return None
    match len(ir.ArrayAttr(groups[0])):
        case 1:
            return [_SAME]
        case 2 if op.name == names.COLLAPSE_SHAPE:
            return [Window(per=long.shape[1])]
    return None


def _of_generic(op: ir_util.Op) -> list[Window | None] | None:
    if any(child.name == names.INDEX for child in ir_util.walk(op)):
        return None
    maps = permute.maps(op)
    if not maps[-1].results or not isinstance(maps[-1].results[0], ir.AffineDimExpr):
        return None
    row = ir.AffineDimExpr(maps[-1].results[0]).position
    sizes = _sizes(op, maps)
    found: list[Window | None] = []
    for map_ in maps:
        terms = [_terms(expression) for expression in map_.results]
        if any(each is None for each in terms):
            return None
        moved = [place for place, each in enumerate(terms) if each and row in each]
        if not moved:
            found.append(None)
            continue
        first = terms[0]
        if moved != [0] or first is None or not set(first) <= set(sizes):
            return None
        size = 1 + sum(by * (sizes[dim] - 1) for dim, by in first.items() if dim != row)
        found.append(Window(first[row], size))
    return found


def _sizes(op: ir_util.Op, maps: list[Any]) -> dict[int, int]:
    """Returns how often each loop runs that an operand has an axis of."""
    sizes: dict[int, int] = {}
    for operand, map_ in zip(op.operands, maps, strict=True):
        if not isinstance(operand.type, ir.RankedTensorType):
            continue
        for size, expression in zip(operand.type.shape, map_.results, strict=True):
            if isinstance(expression, ir.AffineDimExpr):
                sizes[ir.AffineDimExpr(expression).position] = size
    return sizes


def _terms(index: Any) -> dict[int, int] | None:
    """Returns by how much each loop moves an index, None if that is no sum of multiples."""
    if isinstance(index, ir.AffineConstantExpr) and ir.AffineConstantExpr(index).value == 0:
        return {}
    return contraction.terms(index)
